//! The mel kernel for any power-of-two transform.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, Stream};
use warpsmith_workload::{Prepared, WorkloadError, result_on_stream};

use super::bank::MelBank;
use super::cuda::{ID, MelKernel};
use super::settings::FeatureSettings;
use crate::batch::{Batch, DeviceResult, checked};
use crate::frame::source::FrameSource;

// SAFETY: `mel` in `mel.cu` takes these in this order. Samples are read between a file's two places,
// which are checked against their length; windows, roots and weights behind checks against theirs;
// spans below `spans_length / 3`; the one store behind `place_out < out_length`.
static KERNEL: KernelImage = unsafe {
    kernel!("voice/mel", mel(
        in f32, in u64, in u64, in f32, in f32, in u32, in f32, out f32, u32, u32, u32, u32,
        f32, f32
    ))
};

/// Complex points that a block transforms.
const POINTS: usize = 1024;

pub(super) struct CudaMel {
    kernel: Arc<Kernel>,
    source: FrameSource,
    spans: DeviceBuffer<u32>,
    weights: DeviceBuffer<f32>,
    out: DeviceBuffer<f32>,
    settings: FeatureSettings,
    stream: Stream,
}

impl CudaMel {
    pub(super) fn new(
        gpu: &CudaDevice,
        settings: &FeatureSettings,
        batch: &Batch,
    ) -> Result<Self, WorkloadError> {
        let spectrum = &settings.spectrum;
        let transform = spectrum.transform;
        let points = transform / 2;
        if !points.is_power_of_two() || !(4..=POINTS).contains(&points) {
            return Err(WorkloadError::Unsupported {
                workload: ID,
                reason: format!("transforms are powers of two up to 2048, not {transform}"),
            });
        }
        let bank = MelBank::new(&settings.mel, settings.sample_rate, transform);
        let bank = checked(ID, bank)?;
        let (mut spans, mut weights) = (Vec::new(), Vec::new());
        for filter in bank.filters() {
            spans.extend([filter.first, weights.len(), filter.weights.len()].map(|n| n as u32));
            weights.extend_from_slice(&filter.weights);
        }
        Ok(Self {
            kernel: gpu.kernel(&KERNEL)?,
            source: FrameSource::unlimited(gpu, spectrum, batch)?,
            spans: gpu.upload(&spans)?,
            weights: gpu.upload(&weights)?,
            out: gpu.alloc(batch.frames() * settings.rows())?,
            settings: *settings,
            stream: gpu.stream().clone(),
        })
    }
}

impl MelKernel for CudaMel {
    fn levels(&self) -> &DeviceBuffer<f32> {
        &self.out
    }
}

impl DeviceResult for CudaMel {
    fn into_values(self: Box<Self>) -> DeviceBuffer<f32> {
        self.out
    }
}

impl Prepared for CudaMel {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let (factor, floor) = self.settings.compression.logarithm().unwrap_or((0.0, 0.0));
        let shape = self.source.shape(self.source.together());
        let buffers = [self.spans.read(), self.weights.read(), self.out.write()];
        let values = [factor.into(), floor.into()];
        self.source
            .launch(&self.stream, &self.kernel, shape, &buffers, &values)
    }

    result_on_stream!(out: F32);
}
