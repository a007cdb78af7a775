//! A kernel that holds a stream for a set time.

use std::sync::Arc;

use warpsmith_core::{Element, KernelImage, Parameter};
use warpsmith_device::{CudaDevice, DeviceError, Kernel, LaunchShape, Stream};

// SAFETY: `cuda/hold_stream.cu` takes one number and touches no memory.
static KERNEL: KernelImage = unsafe {
    KernelImage::trusted(
        "measure/hold_stream",
        "hold_stream",
        &[Parameter::Value(Element::U64)],
        include_str!("../../cuda/hold_stream.ptx"),
    )
};

/// Holds streams of one device.
pub(crate) struct Hold {
    kernel: Arc<Kernel>,
}

impl Hold {
    /// Loads the kernel and runs it once: a first launch behind a hold would load lazily inside
    /// the timed window.
    pub(crate) fn new(device: &CudaDevice) -> Result<Self, DeviceError> {
        let hold = Self {
            kernel: device.kernel(&KERNEL)?,
        };
        hold.launch(device.stream(), 0)?;
        device.stream().synchronize()?;
        Ok(hold)
    }

    /// Queues a spin of this length; none at all is an empty kernel.
    pub(crate) fn launch(&self, stream: &Stream, nanoseconds: u64) -> Result<(), DeviceError> {
        let shape = LaunchShape::linear(1, 1);
        stream.launch(&self.kernel, shape, &[nanoseconds.into()])
    }
}
