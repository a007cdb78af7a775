//! The keyed XOR on a GPU.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, DeviceError, Kernel, LaunchShape, Stream};

use super::cpu::Key;

// SAFETY: `xor.cu` takes the data and the pattern; it returns unless the pattern is a whole
// number of groups, keeps places in it below that number, and accesses data below its length.
static KERNEL: KernelImage = unsafe { kernel!("lattice/xor", xor_keyed(out u8, in u8)) };

/// Data on a GPU and a key for it.
#[derive(Debug)]
pub struct CudaXor {
    kernel: Arc<Kernel>,
    data: DeviceBuffer<u8>,
    pattern: DeviceBuffer<u8>,
    shape: LaunchShape,
    stream: Stream,
}

impl CudaXor {
    /// Uploads data and key.
    pub fn new(gpu: &CudaDevice, key: &Key, data: &[u8]) -> Result<Self, DeviceError> {
        // Some waves of blocks; threads stride over the rest.
        let mut shape = LaunchShape::linear(data.len().div_ceil(16), 256);
        shape.grid[0] = shape.grid[0].min(32 * gpu.facts().multiprocessors);
        Ok(Self {
            kernel: gpu.kernel(&KERNEL)?,
            data: gpu.upload(data)?,
            pattern: gpu.upload(key.pattern())?,
            shape,
            stream: gpu.stream().clone(),
        })
    }

    /// The stream that it is queued on.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Queues one application.
    pub fn queue(&mut self) -> Result<(), DeviceError> {
        let arguments = [self.data.write(), self.pattern.read()];
        self.stream.launch(&self.kernel, self.shape, &arguments)
    }

    /// Waits, and brings the data back.
    pub fn data(&self) -> Result<Vec<u8>, DeviceError> {
        self.data.download(&self.stream)
    }

    /// Puts other data in their place.
    pub fn upload(&mut self, data: &[u8]) -> Result<(), DeviceError> {
        self.data.upload(&self.stream, data)
    }
}
