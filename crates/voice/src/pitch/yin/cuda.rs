//! YIN on a GPU, one warp to a frame.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_signal::{Framing, Padding};
use warpsmith_workload::{Prepared, WorkloadError, result_on_stream};

use crate::batch::{
    Batch, DeviceBatch, DeviceResult, DeviceSignals, checked, each_on_cuda, in_place,
};
use crate::pitch::autocorrelation::WarpMemory;
use crate::pitch::range::PitchRange;

pub(super) const ID: &str = "voice/yin";
pub(super) const THRESHOLD: f32 = 0.1;

// SAFETY: `yin` in `yin.cu` takes these in this order. Samples are read between a file's two places,
// which are checked against their length; its shared memory is checked against what a warp needs; its
// one store is behind `frame < out_length`.
static KERNEL: KernelImage = unsafe {
    kernel!("voice/yin", yin(
        in f32, in u64, in u64, out f32, u32, u32, u32, u32, u32, u32, f32, f32
    ))
};

pub(super) struct CudaYin {
    kernel: Arc<Kernel>,
    shape: LaunchShape,
    batch: DeviceBatch,
    out: DeviceBuffer<f32>,
    framing: Framing,
    periods: (usize, usize),
    warp_floats: u32,
    rate: u32,
    stream: Stream,
}

impl CudaYin {
    pub(super) fn new(
        gpu: &CudaDevice,
        rate: u32,
        framing: Framing,
        range: PitchRange,
        batch: &Batch,
    ) -> Result<Self, WorkloadError> {
        if framing.padding == Padding::CentredReflect {
            return Err(WorkloadError::Unsupported {
                workload: ID,
                reason: "beyond a signal's ends the kernel sees zeros".into(),
            });
        }
        let periods = checked(ID, range.periods(rate, framing))?;
        let kernel = gpu.kernel(&KERNEL)?;
        let room = WarpMemory::new(framing.length, periods.1 + 1, 0);
        Ok(Self {
            shape: room.shape(gpu, &kernel, ID, batch.frames())?,
            kernel,
            warp_floats: room.floats,
            batch: batch.upload(gpu)?,
            out: gpu.alloc(batch.frames())?,
            framing,
            periods,
            rate,
            stream: gpu.stream().clone(),
        })
    }
}

impl DeviceResult for CudaYin {
    fn into_values(self: Box<Self>) -> DeviceBuffer<f32> {
        self.out
    }
}

impl Prepared for CudaYin {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let arguments = [
            self.batch.samples.read(),
            self.batch.file_samples.read(),
            self.batch.file_frames.read(),
            self.out.write(),
            (self.framing.length as u32).into(),
            (self.framing.hop as u32).into(),
            (self.framing.left() as u32).into(),
            (self.periods.0 as u32).into(),
            (self.periods.1 as u32).into(),
            self.warp_floats.into(),
            THRESHOLD.into(),
            (self.rate as f32).into(),
        ];
        Ok(self.stream.launch(&self.kernel, self.shape, &arguments)?)
    }

    result_on_stream!(out: F32);
}

/// The frequency of each frame of each signal by YIN; a threshold of 0.1.
pub fn yin_on_cuda(
    gpu: &CudaDevice,
    sample_rate: u32,
    framing: Framing,
    range: PitchRange,
    signals: &[&[f32]],
) -> Result<Vec<Vec<f32>>, WorkloadError> {
    let count = |samples| framing.count(samples);
    each_on_cuda(signals, count, 1, |batch| {
        CudaYin::new(gpu, sample_rate, framing, range, batch)
    })
}

/// The frequency of each frame by YIN with a threshold of 0.1, `[signal, frame]`, of signals on the GPU.
pub fn yin_in_place(
    gpu: &CudaDevice,
    sample_rate: u32,
    framing: Framing,
    range: PitchRange,
    signals: DeviceSignals,
) -> Result<DeviceBuffer<f32>, WorkloadError> {
    let count = |samples| framing.count(samples);
    in_place(gpu, signals, count, |batch| {
        Ok(Box::new(CudaYin::new(
            gpu,
            sample_rate,
            framing,
            range,
            batch,
        )?))
    })
}
