//! The mel kernel for any power-of-two transform.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_signal::{Padding, transform_roots};
use warpsmith_workload::{Prepared, WorkloadError, result_on_stream};

use super::bank::MelBank;
use super::cuda::MelKernel;
use super::settings::FeatureSettings;
use crate::batch::{Batch, DeviceBatch};

// SAFETY: `mel` in `mel.cu` takes these in this order. Samples are read between a file's two places,
// which are checked against their length; windows, roots and weights behind checks against theirs;
// spans below `spans_length / 3`; the one store behind `place_out < out_length`.
static KERNEL: KernelImage = unsafe {
    kernel!("voice/mel", mel(
        in f32, in u64, in u64, in f32, in f32, in u32, in f32, out f32, u32, u32, u32, u32,
        f32, f32
    ))
};

/// Threads of a block, as the kernel insists, and complex points that a block transforms.
const THREADS: u32 = 256;
const POINTS: usize = 1024;

pub(super) struct CudaMel {
    kernel: Arc<Kernel>,
    shape: LaunchShape,
    batch: DeviceBatch,
    window: DeviceBuffer<f32>,
    roots: DeviceBuffer<f32>,
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
                workload: "voice/mel",
                reason: format!("transforms are powers of two up to 2048, not {transform}"),
            });
        }
        let bank =
            MelBank::new(&settings.mel, settings.sample_rate, transform).map_err(|error| {
                WorkloadError::Failed {
                    workload: "voice/mel",
                    reason: error.to_string(),
                }
            })?;
        let (mut spans, mut weights) = (Vec::new(), Vec::new());
        for filter in bank.filters() {
            spans.extend([filter.first, weights.len(), filter.weights.len()].map(|n| n as u32));
            weights.extend_from_slice(&filter.weights);
        }
        let window = spectrum
            .window
            .centred(spectrum.window_length, transform, spectrum.symmetry);
        // A quarter of the points' threads transform a frame; a block takes as many as fit.
        let frames_per_block = THREADS as usize / (points / 4);
        let blocks = batch.frames().div_ceil(frames_per_block);
        Ok(Self {
            kernel: gpu.kernel(&KERNEL)?,
            shape: LaunchShape::linear(blocks * THREADS as usize, THREADS),
            batch: batch.upload(gpu)?,
            window: gpu.upload(&window)?,
            roots: gpu.upload(&transform_roots(transform))?,
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

impl Prepared for CudaMel {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let spectrum = &self.settings.spectrum;
        let reflect = spectrum.framing.padding == Padding::CentredReflect;
        let (factor, floor) = self.settings.compression.logarithm().unwrap_or((0.0, 0.0));
        let arguments = [
            self.batch.samples.read(),
            self.batch.file_samples.read(),
            self.batch.file_frames.read(),
            self.window.read(),
            self.roots.read(),
            self.spans.read(),
            self.weights.read(),
            self.out.write(),
            (spectrum.transform as u32).into(),
            (spectrum.framing.hop as u32).into(),
            (spectrum.framing.left() as u32).into(),
            u32::from(reflect).into(),
            factor.into(),
            floor.into(),
        ];
        Ok(self.stream.launch(&self.kernel, self.shape, &arguments)?)
    }

    result_on_stream!(out: F32);
}
