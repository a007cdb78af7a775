//! The mel kernel for frames of 512 samples, half a warp to two frames.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_signal::Conditioning;
use warpsmith_workload::{Prepared, WorkloadError, result_on_stream};

use super::bank::MelBank;
use super::cuda::{ID, MelKernel};
use super::segments::MelSegments;
use super::settings::FeatureSettings;
use crate::batch::{Batch, DeviceResult, checked, launch_parts};
use crate::frame::source::FrameSource;

// SAFETY: `mel512` in `mel512.cu` takes these in this order. Samples are read between a file's
// two places, which are checked against their length; window, roots and the three tables are checked
// against what the kernel reads of them before it reads it; the one store is behind
// `place_out < out_length`.
static KERNEL: KernelImage = unsafe {
    kernel!("voice/mel512", mel512(
        in f32, in u64, in u64, in f32, in f32, in u32, in u32, in f32, out f32, u32, u32, u32,
        u32, u32, f32, f32
    ))
};

const TRANSFORM: usize = 512;
const MOST_FILTERS: usize = 128;
/// Pairs of weights of a lane that the kernel has room for.
const MOST_PAIRS: u32 = 48;
/// Threads of a block, as the kernel insists, and the frames that it takes at a time.
const THREADS: u32 = 128;
const FRAMES: usize = 16;
/// Blocks that a multiprocessor holds at once: each gets its share of the frames.
const RESIDENT: usize = 4;

pub(super) struct CudaMel512 {
    kernel: Arc<Kernel>,
    shape: LaunchShape,
    frames_per_block: u32,
    source: FrameSource,
    firsts: DeviceBuffer<u32>,
    counts: DeviceBuffer<u32>,
    slopes: DeviceBuffer<f32>,
    out: DeviceBuffer<f32>,
    settings: FeatureSettings,
    stream: Stream,
}

impl CudaMel512 {
    /// `None` where the feature is not of this kernel's kind.
    pub(super) fn new(
        gpu: &CudaDevice,
        settings: &FeatureSettings,
        batch: &Batch,
    ) -> Result<Option<Self>, WorkloadError> {
        let spectrum = &settings.spectrum;
        let fits = spectrum.transform == TRANSFORM
            && spectrum.framing.length == TRANSFORM
            && spectrum.conditioning == Conditioning::default()
            && settings.mel.filters <= MOST_FILTERS
            // The kernel's logarithm is one of normal numbers.
            && settings.compression.logarithm().is_none_or(|(_, floor)| floor >= f32::MIN_POSITIVE);
        let bank = MelBank::new(&settings.mel, settings.sample_rate, TRANSFORM);
        let bank = checked(ID, bank)?;
        let gain = settings.gain * settings.gain;
        let segments = MelSegments::new(&bank, spectrum.bins(), gain);
        let Some(segments) = segments.filter(|segments| fits && segments.pairs() <= MOST_PAIRS)
        else {
            return Ok(None);
        };
        // Each block takes its share of the frames, in whole steps.
        let resident = gpu.facts().multiprocessors as usize * RESIDENT;
        let frames_per_block = batch
            .frames()
            .div_ceil(resident)
            .next_multiple_of(FRAMES)
            .max(FRAMES);
        let blocks = batch.frames().div_ceil(frames_per_block);
        Ok(Some(Self {
            kernel: gpu.kernel(&KERNEL)?,
            shape: LaunchShape::linear(blocks * THREADS as usize, THREADS),
            frames_per_block: frames_per_block as u32,
            source: FrameSource::unlimited(gpu, spectrum, batch)?,
            firsts: gpu.upload(&segments.firsts)?,
            counts: gpu.upload(&segments.counts)?,
            slopes: gpu.upload(&segments.slopes)?,
            out: gpu.alloc(batch.frames() * settings.rows())?,
            settings: *settings,
            stream: gpu.stream().clone(),
        }))
    }
}

impl MelKernel for CudaMel512 {
    fn levels(&self) -> &DeviceBuffer<f32> {
        &self.out
    }
}

impl DeviceResult for CudaMel512 {
    fn into_values(self: Box<Self>) -> DeviceBuffer<f32> {
        self.out
    }
}

impl Prepared for CudaMel512 {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let (factor, floor) = self.settings.compression.logarithm().unwrap_or((0.0, 0.0));
        let tables = [
            self.firsts.read(),
            self.counts.read(),
            self.slopes.read(),
            self.out.write(),
        ];
        let filters = self.settings.mel.filters as u32;
        let parts = [
            &self.source.buffers()[..],
            &tables,
            &[filters.into(), self.frames_per_block.into()],
            // The transform is the kernel's own.
            &self.source.numbers()[1..],
            // The kernel takes logarithms to the base 2.
            &[(factor * std::f32::consts::LN_2).into(), floor.into()],
        ];
        launch_parts(&self.stream, &self.kernel, self.shape, &parts)
    }

    result_on_stream!(out: F32);
}
