//! Griffin and Lim's alternation on a GPU: three kernels to a round, spectra and signals stay there.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel, ptx};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_signal::{Padding, SpectrumSettings};
use warpsmith_workload::{Output, Prepared, WorkloadError};

use super::cpu::GriffinLim;
use crate::batch::{Batch, failed};
use crate::spectrum::istft::{CudaIstft, blocks, frames_first, places, silences, transform_blocks};

const PTX: &[u8] = ptx!("voice/griffin_lim");

// SAFETY: `first_phases` in `griffin_lim.cu` takes these in this order and touches bins that both
// magnitudes and spectrum have.
static FIRST: KernelImage =
    unsafe { kernel!("voice/griffin_lim", PTX, first_phases(in f32, in u64, out f32, u32, u64)) };

// SAFETY: `take_phases` takes these in this order. Samples are read between a file's two places, which are
// checked against their length; window and roots against the transform, the three spectra against the frames.
static TAKE: KernelImage = unsafe {
    kernel!("voice/griffin_lim", PTX, take_phases(
        in f32, in u64, in u64, in f32, in f32, in f32, out f32, out f32, u32, u32, u32, u32,
        f32
    ))
};

pub(crate) struct CudaGriffinLim {
    choices: GriffinLim,
    first: (Arc<Kernel>, LaunchShape),
    take: (Arc<Kernel>, LaunchShape),
    istft: CudaIstft,
    magnitudes: DeviceBuffer<f32>,
    before: DeviceBuffer<f32>,
}

impl CudaGriffinLim {
    /// For files with the places of `batch`, whose frames have `magnitudes`, `[frame, bin]`.
    pub(crate) fn new(
        gpu: &CudaDevice,
        choices: GriffinLim,
        settings: &SpectrumSettings,
        batch: &Batch,
        magnitudes: &[f32],
    ) -> Result<Self, WorkloadError> {
        let spectrum = gpu.alloc(2 * magnitudes.len())?;
        let istft = CudaIstft::new(gpu, settings, batch, spectrum)?;
        Ok(Self {
            choices,
            first: (gpu.kernel(&FIRST)?, blocks(magnitudes.len())),
            take: (
                gpu.kernel(&TAKE)?,
                transform_blocks(settings.transform, batch.frames()),
            ),
            istft,
            magnitudes: gpu.upload(magnitudes)?,
            before: gpu.alloc(2 * magnitudes.len())?,
        })
    }

    /// The signals, file by file.
    pub(crate) fn signals(&mut self) -> Result<Vec<Vec<f32>>, WorkloadError> {
        self.istft.signals()
    }
}

impl Prepared for CudaGriffinLim {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let settings = self.istft.settings;
        let framing = settings.framing;
        let stream = self.istft.stream.clone();
        let arguments = [
            self.magnitudes.read(),
            self.istft.batch.file_frames.read(),
            self.istft.spectrum.write(),
            (settings.bins() as u32).into(),
            self.choices.seed.into(),
        ];
        stream.launch(&self.first.0, self.first.1, &arguments)?;
        self.before.fill_bytes(&stream, 0)?;
        let inertia = self.choices.momentum / (1.0 + self.choices.momentum);
        for _ in 0..self.choices.iterations {
            self.istft.run_once()?;
            let arguments = [
                self.istft.batch.samples.read(),
                self.istft.batch.file_samples.read(),
                self.istft.batch.file_frames.read(),
                self.istft.window.read(),
                self.istft.roots.read(),
                self.magnitudes.read(),
                self.before.write(),
                self.istft.spectrum.write(),
                (settings.transform as u32).into(),
                (framing.hop as u32).into(),
                (framing.left() as u32).into(),
                u32::from(framing.padding == Padding::CentredReflect).into(),
                inertia.into(),
            ];
            stream.launch(&self.take.0, self.take.1, &arguments)?;
        }
        self.istft.run_once()
    }

    fn stream(&self) -> Option<&Stream> {
        Some(&self.istft.stream)
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        self.before.fill_bytes(&self.istft.stream, 0xFF)?;
        self.istft.spectrum.fill_bytes(&self.istft.stream, 0xFF)?;
        self.istft.poison()
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        self.istft.output()
    }
}

/// Signals whose magnitudes are near `[bin, frame]` matrices, each with its number of samples.
pub fn griffin_lim_on_cuda(
    gpu: &CudaDevice,
    choices: GriffinLim,
    settings: &SpectrumSettings,
    magnitudes: &[(&[f32], usize)],
) -> Result<Vec<Vec<f32>>, WorkloadError> {
    let settings = settings
        .checked()
        .map_err(|error| failed("voice/griffin-lim", &error))?;
    let sizes = magnitudes
        .iter()
        .map(|(matrix, samples)| (matrix.len(), *samples));
    let Some(batch) = places("voice/griffin-lim", &settings, sizes)? else {
        return Ok(silences(magnitudes.iter().map(|(_, samples)| *samples)));
    };
    let matrices = magnitudes.iter().map(|(matrix, _)| *matrix);
    let flat = matrices.flat_map(|matrix| frames_first(matrix, settings.bins()));
    let flat: Vec<f32> = flat.collect();
    let mut prepared = CudaGriffinLim::new(gpu, choices, &settings, &batch, &flat)?;
    prepared.run_once()?;
    prepared.signals()
}
