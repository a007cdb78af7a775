//! The kernel and its launch.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_workload::{Prepared, WorkloadError, result_on_stream};

use super::workload::A;

// SAFETY: `saxpy.cu` takes x, y, out and a in this order; its loads and its store are at `i`,
// which is below the least of the three lengths.
static KERNEL: KernelImage =
    unsafe { kernel!("machine/saxpy", saxpy(in f32, in f32, out f32, f32)) };

pub(super) struct CudaSaxpy {
    kernel: Arc<Kernel>,
    shape: LaunchShape,
    x: DeviceBuffer<f32>,
    y: DeviceBuffer<f32>,
    out: DeviceBuffer<f32>,
    stream: Stream,
}

impl CudaSaxpy {
    pub(super) fn new(gpu: &CudaDevice, x: &[f32], y: &[f32]) -> Result<Self, WorkloadError> {
        Ok(Self {
            kernel: gpu.kernel(&KERNEL)?,
            shape: LaunchShape::linear(x.len(), 256),
            x: gpu.upload(x)?,
            y: gpu.upload(y)?,
            out: gpu.alloc(x.len())?,
            stream: gpu.stream().clone(),
        })
    }
}

impl Prepared for CudaSaxpy {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let arguments = [self.x.read(), self.y.read(), self.out.write(), A.into()];
        Ok(self.stream.launch(&self.kernel, self.shape, &arguments)?)
    }

    result_on_stream!(out: F32);
}
