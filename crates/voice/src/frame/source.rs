//! What the kernels over `frame_powers.cuh` share: a batch, a window and a transform on the GPU.

use warpsmith_device::{Argument, CudaDevice, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_signal::{Conditioning, Padding, SpectrumSettings, transform_roots};
use warpsmith_workload::WorkloadError;

use crate::batch::{Batch, DeviceBatch, launch_parts};

/// Threads of a block, as the kernels insist.
pub(crate) const THREADS: u32 = 256;
/// Complex points of a transform.
const POINTS: std::ops::RangeInclusive<usize> = 32..=1024;

pub(crate) struct FrameSource {
    batch: DeviceBatch,
    window: DeviceBuffer<f32>,
    roots: DeviceBuffer<f32>,
    settings: SpectrumSettings,
    frames: usize,
}

impl FrameSource {
    pub(crate) fn new(
        gpu: &CudaDevice,
        workload: &'static str,
        settings: &SpectrumSettings,
        batch: &Batch,
    ) -> Result<Self, WorkloadError> {
        let transform = settings.transform;
        if !transform.is_power_of_two()
            || !POINTS.contains(&(transform / 2))
            || settings.framing.length != transform
            || settings.conditioning != Conditioning::default()
        {
            return Err(WorkloadError::Unsupported {
                workload,
                reason: format!(
                    "frames of {} samples in a transform of {transform}: the kernel takes whole frames as \
                     they are, powers of two from {} to {}",
                    settings.framing.length,
                    2 * POINTS.start(),
                    2 * POINTS.end()
                ),
            });
        }
        Self::unlimited(gpu, settings, batch)
    }

    /// For a kernel whose own limits the caller has checked.
    pub(crate) fn unlimited(
        gpu: &CudaDevice,
        settings: &SpectrumSettings,
        batch: &Batch,
    ) -> Result<Self, WorkloadError> {
        let transform = settings.transform;
        let window = settings
            .window
            .centred(settings.window_length, transform, settings.symmetry);
        Ok(Self {
            batch: batch.upload(gpu)?,
            window: gpu.upload(&window)?,
            roots: gpu.upload(&transform_roots(transform))?,
            settings: *settings,
            frames: batch.frames(),
        })
    }

    /// Frames that a block transforms at a time: a quarter of the points' threads have one.
    pub(crate) fn together(&self) -> usize {
        8 * THREADS as usize / self.settings.transform
    }

    /// Blocks for all frames, `of_block` to each.
    pub(crate) fn shape(&self, of_block: usize) -> LaunchShape {
        let blocks = self.frames.div_ceil(of_block);
        LaunchShape::linear(blocks * THREADS as usize, THREADS)
    }

    /// Running totals of frames.
    pub(crate) fn file_frames(&self) -> &DeviceBuffer<u64> {
        &self.batch.file_frames
    }

    /// Samples, their places, frames, window and roots.
    pub(crate) fn buffers(&self) -> [Argument<'_>; 5] {
        [
            self.batch.samples.read(),
            self.batch.file_samples.read(),
            self.batch.file_frames.read(),
            self.window.read(),
            self.roots.read(),
        ]
    }

    /// Transform, hop, what the first frame reaches out before the signal, and whether that is mirrored.
    pub(crate) fn numbers(&self) -> [Argument<'_>; 4] {
        let framing = self.settings.framing;
        let reflect = framing.padding == Padding::CentredReflect;
        [
            (self.settings.transform as u32).into(),
            (framing.hop as u32).into(),
            (framing.left() as u32).into(),
            u32::from(reflect).into(),
        ]
    }

    /// Queues a kernel that takes the frames' buffers, its own, the frames' numbers, and its own.
    pub(crate) fn launch<'a>(
        &'a self,
        stream: &Stream,
        kernel: &Kernel,
        shape: LaunchShape,
        buffers: &[Argument<'a>],
        values: &[Argument<'a>],
    ) -> Result<(), WorkloadError> {
        let parts = [&self.buffers()[..], buffers, &self.numbers(), values];
        launch_parts(stream, kernel, shape, &parts)
    }
}
