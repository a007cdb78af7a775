//! The norm of a gradient, and the clipping, on the GPU.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_workload::{Output, Prepared, WorkloadError};

use super::workload::LARGEST_NORM;

// SAFETY: `square_sums` in `adamw/optimiser.cu` takes these in this order; loads are below the
// gradient's length, the one store is behind `blockIdx.x < sums_length`.
static SUMS: KernelImage = unsafe { kernel!("training/optimiser", square_sums(in f32, out f64)) };

// SAFETY: `clip` in `adamw/optimiser.cu` takes these in this order; sums are read below their length,
// the gradient and the result below the lesser of theirs, the norm is written where there is one.
static CLIP: KernelImage =
    unsafe { kernel!("training/optimiser", clip(in f32, in f64, out f32, out f32, f32)) };

/// Threads of a block, as the kernels insist.
const THREADS: u32 = 256;

pub(super) struct CudaClip {
    sums_kernel: Arc<Kernel>,
    clip_kernel: Arc<Kernel>,
    shape: LaunchShape,
    gradient: DeviceBuffer<f32>,
    sums: DeviceBuffer<f64>,
    out: DeviceBuffer<f32>,
    norm: DeviceBuffer<f32>,
    stream: Stream,
}

impl CudaClip {
    pub(super) fn new(gpu: &CudaDevice, gradient: &[f32]) -> Result<Self, WorkloadError> {
        let most = gpu.facts().multiprocessors as usize * 8;
        let blocks = gradient.len().div_ceil(4 * THREADS as usize).clamp(1, most);
        Ok(Self {
            sums_kernel: gpu.kernel(&SUMS)?,
            clip_kernel: gpu.kernel(&CLIP)?,
            shape: LaunchShape::linear(blocks * THREADS as usize, THREADS),
            gradient: gpu.upload(gradient)?,
            sums: gpu.alloc(blocks)?,
            out: gpu.alloc(gradient.len())?,
            norm: gpu.alloc(1)?,
            stream: gpu.stream().clone(),
        })
    }
}

impl Prepared for CudaClip {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let sums = [self.gradient.read(), self.sums.write()];
        self.stream.launch(&self.sums_kernel, self.shape, &sums)?;
        let clip = [
            self.gradient.read(),
            self.sums.read(),
            self.out.write(),
            self.norm.write(),
            LARGEST_NORM.into(),
        ];
        Ok(self.stream.launch(&self.clip_kernel, self.shape, &clip)?)
    }

    fn stream(&self) -> Option<&Stream> {
        Some(&self.stream)
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        self.norm.fill_bytes(&self.stream, 0xFF)?;
        Ok(self.out.fill_bytes(&self.stream, 0xFF)?)
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        let mut all = self.out.download(&self.stream)?;
        all.extend(self.norm.download(&self.stream)?);
        Ok(Output::F32(all))
    }
}
