//! Spectral statistics on a GPU, from samples to seven numbers in one kernel.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, Stream};
use warpsmith_signal::SpectrumSettings;
use warpsmith_workload::{Output, Prepared, WorkloadError};

use super::cpu::{FLATNESS_FLOOR, ROLLOFF, ROWS, SpectralStatistics, line};
use super::workload::{ID, hide};
use crate::batch::{Batch, DeviceResult, DeviceSignals, checked, each_on_cuda, in_place};
use crate::frame::source::FrameSource;

// SAFETY: `statistics` in `statistics.cu` takes these in this order. Samples are read between a file's
// two places, which are checked against their length; window, roots and the result are checked before the
// first frame.
static KERNEL: KernelImage = unsafe {
    kernel!("voice/statistics", statistics(
        in f32, in u64, in u64, in f32, in f32, out f32, u32, u32, u32, u32, u32, f32, f32,
        f32, f32, f32
    ))
};

/// Frames of a block, one of which is the last of the block before: few enough to fill the GPU, and not so
/// few that it is much of the work.
const RUN: std::ops::RangeInclusive<usize> = 8..=64;
/// Blocks that a multiprocessor has at a time.
const RESIDENT: usize = 4;

pub(super) struct CudaStatistics {
    kernel: Arc<Kernel>,
    source: FrameSource,
    run: usize,
    bin_hz: f32,
    line: (f32, f32),
    /// For a comparison: the roll-off alone, or all but it.
    only_rolloff: Option<bool>,
    out: DeviceBuffer<f32>,
    stream: Stream,
}

impl CudaStatistics {
    pub(super) fn new(
        gpu: &CudaDevice,
        settings: &SpectrumSettings,
        sample_rate: u32,
        batch: &Batch,
    ) -> Result<Self, WorkloadError> {
        let source = FrameSource::new(gpu, ID, settings, batch)?;
        let at_once = RESIDENT * gpu.facts().multiprocessors as usize;
        let run = batch
            .frames()
            .div_ceil(at_once)
            .clamp(*RUN.start(), *RUN.end())
            .next_multiple_of(source.together());
        let bin_hz = sample_rate as f32 / settings.transform as f32;
        let (middle, scatter) = line(settings.bins(), bin_hz);
        Ok(Self {
            kernel: gpu.kernel(&KERNEL)?,
            source,
            run,
            bin_hz,
            line: (middle as f32, (1.0 / scatter) as f32),
            only_rolloff: None,
            out: gpu.alloc(batch.frames() * ROWS)?,
            stream: gpu.stream().clone(),
        })
    }

    /// The output has the roll-off alone, or all but it, and zeros for the rest.
    pub(super) fn show_one_kind(&mut self, rolloff: bool) {
        self.only_rolloff = Some(rolloff);
    }
}

impl DeviceResult for CudaStatistics {
    fn into_values(self: Box<Self>) -> DeviceBuffer<f32> {
        self.out
    }
}

impl Prepared for CudaStatistics {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let values = [
            (self.run as u32).into(),
            self.bin_hz.into(),
            ROLLOFF.into(),
            FLATNESS_FLOOR.into(),
            self.line.0.into(),
            self.line.1.into(),
        ];
        let shape = self.source.shape(self.run - 1);
        let buffers = [self.out.write()];
        self.source
            .launch(&self.stream, &self.kernel, shape, &buffers, &values)
    }

    fn stream(&self) -> Option<&Stream> {
        Some(&self.stream)
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        Ok(self.out.fill_bytes(&self.stream, 0xFF)?)
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        let mut values = self.out.download(&self.stream)?;
        if let Some(rolloff) = self.only_rolloff {
            hide(rolloff, &mut values);
        }
        Ok(Output::F32(values))
    }
}

/// Spectral statistics of each signal.
pub fn statistics_on_cuda(
    gpu: &CudaDevice,
    settings: &SpectrumSettings,
    sample_rate: u32,
    signals: &[&[f32]],
) -> Result<Vec<SpectralStatistics>, WorkloadError> {
    let settings = checked(ID, settings.checked())?;
    let count = |samples| settings.framing.count(samples);
    let frames = each_on_cuda(signals, count, ROWS, |batch| {
        CudaStatistics::new(gpu, &settings, sample_rate, batch)
    })?;
    Ok(frames
        .iter()
        .map(|values| SpectralStatistics::of_frames(values))
        .collect())
}

/// Spectral statistics, `[signal, frame, statistic]` in the order of their fields but with the flux before the slope,
/// of signals on the GPU.
pub fn statistics_in_place(
    gpu: &CudaDevice,
    settings: &SpectrumSettings,
    sample_rate: u32,
    signals: DeviceSignals,
) -> Result<DeviceBuffer<f32>, WorkloadError> {
    let settings = checked(ID, settings.checked())?;
    let count = |samples| settings.framing.count(samples);
    in_place(gpu, signals, count, |batch| {
        let statistics = CudaStatistics::new(gpu, &settings, sample_rate, batch)?;
        Ok(Box::new(statistics))
    })
}
