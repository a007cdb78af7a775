//! Cepstra on a GPU: cosines over the levels that a mel kernel leaves there.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_workload::{Prepared, WorkloadError, result_on_stream};

use super::cpu::cosines;
use super::cuda::{MelKernel, on_cuda};
use super::settings::{FeatureSettings, Layout};
use crate::batch::{Batch, DeviceResult};

// SAFETY: `mel_loudest` in `cepstrum.cu` takes these in this order and checks all levels and files first.
static LOUDEST: KernelImage =
    unsafe { kernel!("voice/cepstrum", mel_loudest(in f32, in u64, out u32, u32)) };
// SAFETY: `mel_cepstrum` takes these in this order; a thread checks its coefficient, its frame and its file against
// all of them.
static CEPSTRUM: KernelImage = unsafe {
    kernel!("voice/cepstrum", mel_cepstrum(in f32, in u64, in u32, in f32, out f32, u32, u32, f32))
};

const THREADS: u32 = 256;

/// Cepstra of levels, which may be limited to a dynamic range.
pub(super) struct CudaCepstrum {
    mel: Box<dyn MelKernel>,
    kernels: (Arc<Kernel>, Arc<Kernel>),
    file_frames: DeviceBuffer<u64>,
    /// The rank of each file's loudest level; 0 is below all of them.
    loudest: DeviceBuffer<u32>,
    cosines: DeviceBuffer<f32>,
    out: DeviceBuffer<f32>,
    filters: usize,
    frames: usize,
    range: f32,
    stream: Stream,
}

impl CudaCepstrum {
    /// For settings with a cepstrum.
    pub(super) fn new(
        gpu: &CudaDevice,
        settings: &FeatureSettings,
        batch: &Batch,
    ) -> Result<Self, WorkloadError> {
        let levels = FeatureSettings {
            dynamic_range: None,
            cepstrum: None,
            layout: Layout::FramesFirst,
            ..*settings
        };
        let frames = batch.frames();
        Ok(Self {
            mel: on_cuda(gpu, &levels, batch)?,
            kernels: (gpu.kernel(&LOUDEST)?, gpu.kernel(&CEPSTRUM)?),
            file_frames: gpu.upload(&batch.file_frames)?,
            loudest: gpu.alloc(batch.file_frames.len() - 1)?,
            cosines: gpu.upload(&cosines(settings))?,
            out: gpu.alloc(frames * settings.rows())?,
            filters: settings.mel.filters,
            frames,
            range: settings.dynamic_range.unwrap_or(f32::INFINITY),
            stream: gpu.stream().clone(),
        })
    }
}

impl DeviceResult for CudaCepstrum {
    fn into_values(self: Box<Self>) -> DeviceBuffer<f32> {
        self.out
    }
}

impl Prepared for CudaCepstrum {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        self.mel.run_once()?;
        self.loudest.fill_bytes(&self.stream, 0)?;
        let filters = self.filters as u32;
        let arguments = [
            self.mel.levels().read(),
            self.file_frames.read(),
            self.loudest.write(),
            filters.into(),
        ];
        let shape = LaunchShape::linear(self.frames, THREADS);
        self.stream.launch(&self.kernels.0, shape, &arguments)?;
        let coefficients = self.out.len() / self.frames;
        let shape = LaunchShape::linear(self.out.len(), THREADS);
        let arguments = [
            self.mel.levels().read(),
            self.file_frames.read(),
            self.loudest.read(),
            self.cosines.read(),
            self.out.write(),
            filters.into(),
            (coefficients as u32).into(),
            self.range.into(),
        ];
        Ok(self.stream.launch(&self.kernels.1, shape, &arguments)?)
    }

    result_on_stream!(out: F32);
}
