//! Short-time spectra on a GPU, for any power-of-two transform.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_signal::{Conditioning, Padding, SpectrumSettings, transform_roots};
use warpsmith_workload::{Prepared, WorkloadError, result_on_stream};

use super::cpu::Density;
use crate::batch::{Batch, DeviceBatch, cut, failed};

// SAFETY: `spectrogram` in `spectrogram.cu` takes these in this order. Samples are read between
// a file's two places, which are checked against their length; window, roots and the result against what the kernel
// touches of them before the first frame.
static KERNEL: KernelImage = unsafe {
    kernel!("voice/spectrogram", spectrogram(
        in f32, in u64, in u64, in f32, in f32, out f32, u32, u32, u32, u32, u32
    ))
};

/// Threads of a block, as the kernel insists, and complex points that a block transforms.
const THREADS: u32 = 256;
const POINTS: usize = 1024;

/// What of a bin is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Both of its numbers.
    Complex,
    Density(Density),
}

impl Kind {
    /// Numbers to a bin.
    pub(super) fn values(self) -> usize {
        match self {
            Self::Complex => 2,
            Self::Density(_) => 1,
        }
    }

    /// As the kernel names it.
    fn number(self) -> u32 {
        match self {
            Self::Complex => 0,
            Self::Density(Density::Power) => 1,
            Self::Density(Density::Magnitude) => 2,
        }
    }
}

pub(super) struct CudaSpectrogram {
    kernel: Arc<Kernel>,
    shape: LaunchShape,
    settings: SpectrumSettings,
    kind: Kind,
    batch: DeviceBatch,
    window: DeviceBuffer<f32>,
    roots: DeviceBuffer<f32>,
    out: DeviceBuffer<f32>,
    stream: Stream,
}

impl CudaSpectrogram {
    pub(super) fn new(
        gpu: &CudaDevice,
        settings: &SpectrumSettings,
        kind: Kind,
        batch: &Batch,
    ) -> Result<Self, WorkloadError> {
        let points = settings.transform / 2;
        let whole = settings.framing.length == settings.transform;
        if !points.is_power_of_two()
            || !(4..=POINTS).contains(&points)
            || !whole
            || settings.conditioning != Conditioning::default()
        {
            return Err(WorkloadError::Unsupported {
                workload: "voice/spectrogram",
                reason: format!(
                    "frames of {} samples in a transform of {}: the kernel takes whole frames as \
                     they are, powers of two up to 2048, so presets librosa, torchaudio and htk",
                    settings.framing.length, settings.transform
                ),
            });
        }
        let window = settings.window.centred(
            settings.window_length,
            settings.transform,
            settings.symmetry,
        );
        // A quarter of the points' threads transform a frame; a block takes as many as fit.
        let frames_per_block = THREADS as usize / (points / 4);
        let blocks = batch.frames().div_ceil(frames_per_block);
        Ok(Self {
            kernel: gpu.kernel(&KERNEL)?,
            shape: LaunchShape::linear(blocks * THREADS as usize, THREADS),
            settings: *settings,
            kind,
            batch: batch.upload(gpu)?,
            window: gpu.upload(&window)?,
            roots: gpu.upload(&transform_roots(settings.transform))?,
            out: gpu.alloc(batch.frames() * settings.bins() * kind.values())?,
            stream: gpu.stream().clone(),
        })
    }
}

impl Prepared for CudaSpectrogram {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let framing = self.settings.framing;
        let reflect = framing.padding == Padding::CentredReflect;
        let arguments = [
            self.batch.samples.read(),
            self.batch.file_samples.read(),
            self.batch.file_frames.read(),
            self.window.read(),
            self.roots.read(),
            self.out.write(),
            (self.settings.transform as u32).into(),
            (framing.hop as u32).into(),
            (framing.left() as u32).into(),
            u32::from(reflect).into(),
            self.kind.number().into(),
        ];
        Ok(self.stream.launch(&self.kernel, self.shape, &arguments)?)
    }

    result_on_stream!(out: F32);
}

/// Powers or magnitudes of each signal, `[frame, bin]`.
pub fn spectrogram_on_cuda(
    gpu: &CudaDevice,
    settings: &SpectrumSettings,
    density: Density,
    signals: &[&[f32]],
) -> Result<Vec<Vec<f32>>, WorkloadError> {
    let settings = settings
        .checked()
        .map_err(|error| failed("voice/spectrogram", &error))?;
    let count = |samples: usize| settings.framing.count(samples);
    let batch = Batch::of(signals, count);
    if batch.frames() == 0 {
        return Ok(vec![Vec::new(); signals.len()]);
    }
    let mut prepared = CudaSpectrogram::new(gpu, &settings, Kind::Density(density), &batch)?;
    cut(&mut prepared, signals, count, settings.bins())
}
