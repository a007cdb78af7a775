//! A kernel that runs for a known time.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceError, Kernel, LaunchShape, Stream};

// SAFETY: `spin.cu` takes one number and touches no memory.
static KERNEL: KernelImage = unsafe { kernel!("measure/spin", spin(u64)) };

/// Spins on one device.
#[derive(Clone)]
pub(crate) struct Spin {
    kernel: Arc<Kernel>,
}

impl Spin {
    /// Loads the kernel and runs it once, so that no timed launch loads it.
    pub(crate) fn new(device: &CudaDevice) -> Result<Self, DeviceError> {
        let spin = Self {
            kernel: device.kernel(&KERNEL)?,
        };
        spin.launch(device.stream(), 0)?;
        device.stream().synchronize()?;
        Ok(spin)
    }

    /// Queues a spin of this length; none at all is an empty kernel.
    pub(crate) fn launch(&self, stream: &Stream, nanoseconds: u64) -> Result<(), DeviceError> {
        let shape = LaunchShape::linear(1, 1);
        stream.launch(&self.kernel, shape, &[nanoseconds.into()])
    }
}
