//! Onset strength on a GPU: mel levels, the loudest of each file, and how much they rise.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_workload::{Output, Prepared, WorkloadError};

use super::cpu::{levels, shift};
use super::workload::ID;
use crate::batch::{Batch, DeviceResult, DeviceSignals, checked, each_on_cuda, in_place};
use crate::mel::FeatureSettings;
use crate::mel::cuda::{MelKernel, on_cuda};

// SAFETY: `onset_loudest` in `onset.cu` takes these in this order, and checks levels and loudest against
// the frames and the number of files before it touches them.
static LOUDEST: KernelImage =
    unsafe { kernel!("voice/onset", onset_loudest(in f32, in u64, out u32, u32, u32)) };

// SAFETY: `onset` in `onset.cu` takes these in this order, and checks levels, loudest and the result
// against the frames and the number of files before it touches them.
static RISE: KernelImage =
    unsafe { kernel!("voice/onset", onset(in f32, in u64, in u32, out f32, u32, u32, f32)) };

/// Threads of a block, as the kernels insist: eight warps.
const THREADS: u32 = 256;
/// Frames of which a warp finds the loudest.
const RUN: usize = 16;

pub(super) struct CudaOnset {
    mel: Box<dyn MelKernel>,
    loudest_of: Arc<Kernel>,
    rise: Arc<Kernel>,
    file_frames: DeviceBuffer<u64>,
    loudest: DeviceBuffer<u32>,
    out: DeviceBuffer<f32>,
    bands: usize,
    shift: usize,
    range: f32,
    stream: Stream,
}

impl CudaOnset {
    /// For levels as `settings` has them; their dynamic range is what the rises are within.
    pub(super) fn new(
        gpu: &CudaDevice,
        settings: &FeatureSettings,
        batch: &Batch,
    ) -> Result<Self, WorkloadError> {
        let plain = FeatureSettings {
            dynamic_range: None,
            ..*settings
        };
        let spectrum = settings.spectrum;
        Ok(Self {
            mel: on_cuda(gpu, &plain, batch)?,
            loudest_of: gpu.kernel(&LOUDEST)?,
            rise: gpu.kernel(&RISE)?,
            file_frames: gpu.upload(&batch.file_frames)?,
            loudest: gpu.alloc(batch.file_frames.len() - 1)?,
            out: gpu.alloc(batch.frames())?,
            bands: settings.rows(),
            shift: shift(spectrum.transform, spectrum.framing.hop),
            range: settings.dynamic_range.unwrap_or(f32::INFINITY),
            stream: gpu.stream().clone(),
        })
    }
}

impl DeviceResult for CudaOnset {
    fn into_values(self: Box<Self>) -> DeviceBuffer<f32> {
        self.out
    }
}

impl Prepared for CudaOnset {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        self.mel.run_once()?;
        // Below every level.
        self.loudest.fill_bytes(&self.stream, 0)?;
        let bands = (self.bands as u32).into();
        let frames = self.out.len();
        let arguments = [
            self.mel.levels().read(),
            self.file_frames.read(),
            self.loudest.write(),
            bands,
            (RUN as u32).into(),
        ];
        let shape = LaunchShape::linear(32 * frames.div_ceil(RUN), THREADS);
        self.stream.launch(&self.loudest_of, shape, &arguments)?;
        let arguments = [
            self.mel.levels().read(),
            self.file_frames.read(),
            self.loudest.read(),
            self.out.write(),
            bands,
            (self.shift as u32).into(),
            self.range.into(),
        ];
        let shape = LaunchShape::linear(32 * frames, THREADS);
        Ok(self.stream.launch(&self.rise, shape, &arguments)?)
    }

    fn stream(&self) -> Option<&Stream> {
        Some(&self.stream)
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        self.mel.poison()?;
        self.loudest.fill_bytes(&self.stream, 0xFF)?;
        Ok(self.out.fill_bytes(&self.stream, 0xFF)?)
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        Ok(Output::F32(self.out.download(&self.stream)?))
    }
}

/// Onset strength of each signal, as [`OnsetDetector`](crate::OnsetDetector) has it.
pub fn onset_strength_on_cuda(
    gpu: &CudaDevice,
    sample_rate: u32,
    transform: usize,
    hop: usize,
    signals: &[&[f32]],
) -> Result<Vec<Vec<f32>>, WorkloadError> {
    let settings = checked(ID, levels(sample_rate, transform, hop).checked())?;
    let framing = settings.spectrum.framing;
    let count = |samples| framing.count(samples);
    each_on_cuda(signals, count, 1, |batch| {
        CudaOnset::new(gpu, &settings, batch)
    })
}

/// Onset strength, `[signal, frame]`, of signals on the GPU.
pub fn onset_strength_in_place(
    gpu: &CudaDevice,
    sample_rate: u32,
    transform: usize,
    hop: usize,
    signals: DeviceSignals,
) -> Result<DeviceBuffer<f32>, WorkloadError> {
    let settings = checked(ID, levels(sample_rate, transform, hop).checked())?;
    let count = |samples| settings.spectrum.framing.count(samples);
    in_place(gpu, signals, count, |batch| {
        Ok(Box::new(CudaOnset::new(gpu, &settings, batch)?))
    })
}
