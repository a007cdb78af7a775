//! Chroma on a GPU, from samples to classes in one kernel.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, Stream};
use warpsmith_signal::SpectrumSettings;
use warpsmith_workload::{Prepared, WorkloadError, result_on_stream};

use super::cpu::{PITCH_CLASSES, filters};
use super::workload::ID;
use crate::batch::{Batch, DeviceResult, DeviceSignals, checked, each_on_cuda, in_place};
use crate::frame::source::FrameSource;

// SAFETY: `chroma` in `chroma.cu` takes these in this order. Samples are read between a file's two
// places, which are checked against their length; window, roots, filters and the result are checked before
// the first frame.
static KERNEL: KernelImage = unsafe {
    kernel!("voice/chroma", chroma(
        in f32, in u64, in u64, in f32, in f32, in f32, out f32, u32, u32, u32, u32
    ))
};

pub(super) struct CudaChroma {
    kernel: Arc<Kernel>,
    source: FrameSource,
    filters: DeviceBuffer<f32>,
    out: DeviceBuffer<f32>,
    stream: Stream,
}

impl CudaChroma {
    pub(super) fn new(
        gpu: &CudaDevice,
        settings: &SpectrumSettings,
        sample_rate: u32,
        tuning: f64,
        batch: &Batch,
    ) -> Result<Self, WorkloadError> {
        let by_class = filters(sample_rate, settings.transform, tuning);
        let bins = settings.bins();
        let by_bin: Vec<f32> = (0..by_class.len())
            .map(|at| by_class[at % PITCH_CLASSES * bins + at / PITCH_CLASSES])
            .collect();
        Ok(Self {
            kernel: gpu.kernel(&KERNEL)?,
            source: FrameSource::new(gpu, ID, settings, batch)?,
            filters: gpu.upload(&by_bin)?,
            out: gpu.alloc(batch.frames() * PITCH_CLASSES)?,
            stream: gpu.stream().clone(),
        })
    }
}

impl DeviceResult for CudaChroma {
    fn into_values(self: Box<Self>) -> DeviceBuffer<f32> {
        self.out
    }
}

impl Prepared for CudaChroma {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let shape = self.source.shape(self.source.together());
        let buffers = [self.filters.read(), self.out.write()];
        self.source
            .launch(&self.stream, &self.kernel, shape, &buffers, &[])
    }

    result_on_stream!(out: F32);
}

/// Chroma of each signal, `[frame, class]`.
pub fn chroma_on_cuda(
    gpu: &CudaDevice,
    settings: &SpectrumSettings,
    sample_rate: u32,
    signals: &[&[f32]],
) -> Result<Vec<Vec<f32>>, WorkloadError> {
    let settings = checked(ID, settings.checked())?;
    let count = |samples| settings.framing.count(samples);
    each_on_cuda(signals, count, PITCH_CLASSES, |batch| {
        CudaChroma::new(gpu, &settings, sample_rate, 0.0, batch)
    })
}

/// Chroma, tuned so many semitones above A4 = 440 Hz, `[signal, frame, class]`, of signals on the GPU.
pub fn chroma_in_place(
    gpu: &CudaDevice,
    settings: &SpectrumSettings,
    sample_rate: u32,
    tuning: f64,
    signals: DeviceSignals,
) -> Result<DeviceBuffer<f32>, WorkloadError> {
    let settings = checked(ID, settings.checked())?;
    let count = |samples| settings.framing.count(samples);
    in_place(gpu, signals, count, |batch| {
        let chroma = CudaChroma::new(gpu, &settings, sample_rate, tuning, batch)?;
        Ok(Box::new(chroma))
    })
}
