//! The most likely path through CREPE's probabilities on a GPU, a block to a file, and the pitch around it.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_workload::{Output, Prepared, WorkloadError};

use super::cpu::CrepePlan;
use super::network::BINS;

// SAFETY: `crepe_path` in `crepe.cu` takes these in this order; a file's frames are checked against rows, origins
// and steps, the costs' count and the range of steps before the first frame.
static PATH: KernelImage = unsafe {
    kernel!("voice/crepe", crepe_path(in f32, in u64, in f64, out u8, out u32, u32, u32))
};

// SAFETY: `crepe_hertz` in `crepe.cu` takes these in this order; a frame is checked against rows, steps and
// result, and its step against the pitches.
static HERTZ: KernelImage =
    unsafe { kernel!("voice/crepe", crepe_hertz(in f32, in u32, out f32, u64)) };

/// What the search keeps.
pub(super) struct PathMemory {
    kernels: [Arc<Kernel>; 2],
    file_frames: DeviceBuffer<u64>,
    costs: DeviceBuffer<f64>,
    /// Where each step of each frame came from.
    origins: DeviceBuffer<u8>,
    pub(super) steps: DeviceBuffer<u32>,
    /// Hertz and the probability of the step, of each frame.
    pub(super) pairs: DeviceBuffer<f32>,
    allowed: [u32; 2],
    stream: Stream,
}

impl PathMemory {
    /// For files whose running total of frames is `file_frames`, none without a frame.
    pub(super) fn new(
        gpu: &CudaDevice,
        plan: &CrepePlan,
        file_frames: &[u64],
    ) -> Result<Self, WorkloadError> {
        let frames = file_frames.last().copied().unwrap_or(0) as usize;
        Ok(Self {
            kernels: [gpu.kernel(&PATH)?, gpu.kernel(&HERTZ)?],
            file_frames: gpu.upload(file_frames)?,
            costs: gpu.upload(&CrepePlan::costs())?,
            origins: gpu.alloc(frames * BINS)?,
            steps: gpu.alloc(frames)?,
            pairs: gpu.alloc(2 * frames)?,
            allowed: plan.allowed().map(|step| step as u32),
            stream: gpu.stream().clone(),
        })
    }

    /// Searches in probabilities, [`BINS`] to a frame.
    pub(super) fn search(&mut self, rows: &DeviceBuffer<f32>) -> Result<(), WorkloadError> {
        let [path, hertz] = &self.kernels;
        let [low, high] = self.allowed;
        let shape = LaunchShape {
            grid: [self.file_frames.len() as u32 - 1, 1, 1],
            block: [384, 1, 1],
            shared_bytes: 0,
        };
        let arguments = [
            rows.read(),
            self.file_frames.read(),
            self.costs.read(),
            self.origins.write(),
            self.steps.write(),
            low.into(),
            high.into(),
        ];
        self.stream.launch(path, shape, &arguments)?;
        let frames = self.steps.len();
        let arguments = [
            rows.read(),
            self.steps.read(),
            self.pairs.write(),
            (frames as u64).into(),
        ];
        let shape = LaunchShape::linear(frames, 256);
        Ok(self.stream.launch(hertz, shape, &arguments)?)
    }
}

/// The search in probabilities that somebody has.
pub(super) struct CudaCrepePath {
    rows: DeviceBuffer<f32>,
    memory: PathMemory,
}

impl CudaCrepePath {
    pub(super) fn new(
        gpu: &CudaDevice,
        plan: &CrepePlan,
        rows: &[f32],
        file_frames: &[u64],
    ) -> Result<Self, WorkloadError> {
        Ok(Self {
            rows: gpu.upload(rows)?,
            memory: PathMemory::new(gpu, plan, file_frames)?,
        })
    }
}

impl Prepared for CudaCrepePath {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        self.memory.search(&self.rows)
    }

    fn stream(&self) -> Option<&Stream> {
        Some(&self.memory.stream)
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        let PathMemory {
            origins,
            steps,
            pairs,
            stream,
            ..
        } = &mut self.memory;
        origins.fill_bytes(stream, 0xFF)?;
        steps.fill_bytes(stream, 0xFF)?;
        Ok(pairs.fill_bytes(stream, 0xFF)?)
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        let PathMemory { pairs, stream, .. } = &self.memory;
        Ok(Output::F32(pairs.download(stream)?))
    }
}
