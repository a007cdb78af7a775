//! How periodic frames are on a GPU, one warp to a frame.

use std::sync::Arc;

use rayon::prelude::*;
use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_workload::{Prepared, WorkloadError, result_on_stream};

use super::cpu::PeriodicityVad;
use super::tops::Periodicity;
use crate::batch::{Batch, checked, each_on_cuda};
use crate::pitch::{Placement, WarpMemory, WindowedFrames};

pub(super) const ID: &str = "voice/periodicity";

// SAFETY: `periodicity` in `periodicity.cu` takes these in this order. Window, tables, shared memory and
// results are checked before the first frame, a frame's samples before it is read.
static KERNEL: KernelImage = unsafe {
    kernel!("voice/periodicity", periodicity(
        in f32, in u64, in f32, in f32, out f32, u32, u32, u32, u32, u32, u32
    ))
};

pub(super) struct CudaPeriodicity {
    kernel: Arc<Kernel>,
    shape: LaunchShape,
    room: WarpMemory,
    placement: Placement,
    lags: (usize, usize),
    samples: DeviceBuffer<f32>,
    windowed: WindowedFrames,
    tops: DeviceBuffer<f32>,
    stream: Stream,
}

impl CudaPeriodicity {
    pub(super) fn new(
        gpu: &CudaDevice,
        periodicity: &Periodicity,
        batch: &Batch,
    ) -> Result<Self, WorkloadError> {
        let (placement, lags) = (periodicity.placement(), periodicity.lags());
        let kernel = gpu.kernel(&KERNEL)?;
        let room = WarpMemory::new(2 * placement.half, lags.1, 0);
        Ok(Self {
            shape: room.shape(gpu, &kernel, ID, batch.frames())?,
            kernel,
            room,
            placement,
            lags,
            samples: batch.samples_on(gpu)?,
            windowed: WindowedFrames::upload(gpu, &placement, batch)?,
            tops: gpu.alloc(batch.frames())?,
            stream: gpu.stream().clone(),
        })
    }
}

impl Prepared for CudaPeriodicity {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let arguments = [
            self.samples.read(),
            self.windowed.starts.read(),
            self.windowed.window.read(),
            self.windowed.unwindow.read(),
            self.tops.write(),
            (self.placement.half as u32).into(),
            (self.placement.period as u32).into(),
            (self.lags.0 as u32).into(),
            (self.lags.1 as u32).into(),
            self.room.lag_at.into(),
            self.room.floats.into(),
        ];
        Ok(self.stream.launch(&self.kernel, self.shape, &arguments)?)
    }

    result_on_stream!(tops: F32);
}

/// Voice activity of each signal by periodicity, one decision to 10 ms. Tops come from one kernel; what follows
/// from them looks at few numbers, on the host, files side by side.
pub fn periodicity_vad_on_cuda(
    gpu: &CudaDevice,
    sample_rate: u32,
    signals: &[&[f32]],
) -> Result<Vec<Vec<bool>>, WorkloadError> {
    let vad = checked(ID, PeriodicityVad::new(sample_rate))?;
    let placement = vad.periodicity.placement();
    let count = |samples| placement.frames(samples);
    let tops = each_on_cuda(signals, count, 1, |batch| {
        CudaPeriodicity::new(gpu, &vad.periodicity, batch)
    })?;
    let signals = signals.par_iter().map(|signal| signal.len());
    Ok(signals
        .zip(&tops)
        .map(|(samples, tops)| PeriodicityVad::judge(placement, samples, tops))
        .collect())
}
