//! A kernel that holds a stream until the host lets it go.

use std::sync::Arc;
use std::time::Duration;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceError, HostFlag, Kernel, LaunchShape, Stream};

// SAFETY: `hold_stream.cu` takes a buffer of u32 with its length, a u32 and a u64; it reads
// the first element where the length is not zero, and nothing else.
static KERNEL: KernelImage =
    unsafe { kernel!("measure/hold_stream", hold_stream(in u32, u32, u64)) };

/// Holds streams of one device, one at a time.
pub(crate) struct Hold {
    kernel: Arc<Kernel>,
    released: HostFlag,
    ticket: u32,
}

impl Hold {
    /// Work that is not queued within this time waits for itself, and no hold would do.
    const LIMIT: Duration = Duration::from_millis(100);

    /// Loads the kernel and runs it once: a first launch behind a hold would load lazily inside
    /// the timed window.
    pub(crate) fn new(device: &CudaDevice) -> Result<Self, DeviceError> {
        let mut hold = Self {
            kernel: device.kernel(&KERNEL)?,
            released: HostFlag::new(device)?,
            ticket: 0,
        };
        hold.close(device.stream())?;
        hold.open();
        device.stream().synchronize()?;
        Ok(hold)
    }

    /// Holds back what is queued on `stream` from here on, until [`Hold::open`] or the limit.
    pub(crate) fn close(&mut self, stream: &Stream) -> Result<(), DeviceError> {
        // A ticket of its own each time: a hold never sees that an earlier one was let go.
        self.ticket = self.ticket.wrapping_add(1);
        let nanoseconds = Self::LIMIT.as_nanos() as u64;
        stream.launch(
            &self.kernel,
            LaunchShape::linear(1, 1),
            &[
                self.released.watch(),
                self.ticket.into(),
                nanoseconds.into(),
            ],
        )
    }

    /// Lets go.
    pub(crate) fn open(&self) {
        self.released.set(self.ticket);
    }
}
