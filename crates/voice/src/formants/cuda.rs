//! Formants on a GPU: the batch resampled, then a warp to two frames.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_workload::{Output, Prepared, WorkloadError};

use super::cpu::{EDGE_HZ, Formant, FormantSettings, FormantTracker};
use super::workload::read;
use crate::batch::{Batch, checked, each_on_cuda};
use crate::resample::CudaResample;

// SAFETY: `formants` in `formants.cu` takes these in this order. A frame is checked against the samples and
// the window before a load, the room for all frames against the number of them before a store.
static KERNEL: KernelImage = unsafe {
    kernel!("voice/formants", formants(in f32, in u64, in f64, out f32, u32, f64, f64, f64))
};

pub(super) const ID: &str = "voice/formants";

/// Threads of a block and frames of a warp, as the kernel insists, and the largest window and number of
/// formants that it takes.
const THREADS: u32 = 128;
const FRAMES: usize = 2;
const LONGEST: usize = 640;
const MOST: usize = 8;

/// Samples at the tracker's rate.
enum Samples {
    Resampled(Box<CudaResample>),
    AsTheyAre(DeviceBuffer<f32>),
}

pub(super) struct CudaFormants {
    kernel: Arc<Kernel>,
    shape: LaunchShape,
    samples: Samples,
    frames: DeviceBuffer<u64>,
    window: DeviceBuffer<f64>,
    out: DeviceBuffer<f32>,
    count: usize,
    emphasis: f64,
    rate: f64,
    stream: Stream,
}

impl CudaFormants {
    /// For the signals of `batch`, `count` formants to a frame.
    pub(super) fn new(
        gpu: &CudaDevice,
        tracker: &FormantTracker,
        count: usize,
        batch: &Batch,
    ) -> Result<Self, WorkloadError> {
        if tracker.window().len() > LONGEST || count > MOST {
            return Err(WorkloadError::Unsupported {
                workload: ID,
                reason: format!(
                    "{count} formants in windows of {} samples; the kernel takes {MOST} in {LONGEST}",
                    tracker.window().len()
                ),
            });
        }
        let resampler = tracker.resampler();
        let (up, down, ..) = resampler.polyphase();
        let mut frames = Vec::with_capacity(3 * batch.frames());
        let mut resampled = 0;
        for ends in batch.file_samples.chunks_exact(2) {
            let length = (ends[1] - ends[0]) as usize;
            let begin = if up == down {
                ends[0] as usize
            } else {
                resampled
            };
            resampled += resampler.output_length(length);
            for stretch in tracker.stretches(length) {
                let numbers = [begin, begin + stretch.start, begin + stretch.end];
                frames.extend(numbers.map(|number| number as u64));
            }
        }
        let kernel = gpu.kernel(&KERNEL)?;
        let warps = batch.frames().div_ceil(FRAMES);
        Ok(Self {
            kernel,
            shape: LaunchShape::linear(32 * warps, THREADS),
            samples: if up == down {
                Samples::AsTheyAre(batch.samples_on(gpu)?)
            } else {
                Samples::Resampled(Box::new(CudaResample::new(gpu, resampler, batch)?))
            },
            frames: gpu.upload(&frames)?,
            window: gpu.upload(tracker.window())?,
            out: gpu.alloc(batch.frames() * 2 * count)?,
            count,
            emphasis: tracker.emphasis(),
            rate: tracker.rate(),
            stream: gpu.stream().clone(),
        })
    }
}

impl Prepared for CudaFormants {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        if let Samples::Resampled(resample) = &mut self.samples {
            resample.run_once()?;
        }
        let samples = match &self.samples {
            Samples::Resampled(resample) => resample.resampled(),
            Samples::AsTheyAre(samples) => samples,
        };
        let arguments = [
            samples.read(),
            self.frames.read(),
            self.window.read(),
            self.out.write(),
            (self.count as u32).into(),
            self.emphasis.into(),
            self.rate.into(),
            EDGE_HZ.into(),
        ];
        Ok(self.stream.launch(&self.kernel, self.shape, &arguments)?)
    }

    fn stream(&self) -> Option<&Stream> {
        Some(&self.stream)
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        if let Samples::Resampled(resample) = &mut self.samples {
            resample.poison()?;
        }
        Ok(self.out.fill_bytes(&self.stream, 0xFF)?)
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        Ok(Output::F32(self.out.download(&self.stream)?))
    }
}

/// The formants of each frame of each signal, lowest first.
pub fn formants_on_cuda(
    gpu: &CudaDevice,
    sample_rate: u32,
    settings: FormantSettings,
    signals: &[&[f32]],
) -> Result<Vec<Vec<Vec<Formant>>>, WorkloadError> {
    let tracker = checked(ID, FormantTracker::new(sample_rate, settings))?;
    let (count, width) = (|samples| tracker.frames(samples), 2 * settings.count);
    let values = each_on_cuda(signals, count, width, |batch| {
        CudaFormants::new(gpu, &tracker, settings.count, batch)
    })?;
    Ok(values
        .iter()
        .map(|values| values.chunks_exact(width).map(read).collect())
        .collect())
}
