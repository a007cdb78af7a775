//! Where the bytes of a launch's arrays lie for a Vulkan device: in a copy, or where the host has them.

use warpsmith_device::{DeviceError, VulkanBuffer, VulkanDevice};
use warpsmith_interpreter::{Borrowed, Bytes};

/// Fewer bytes are copied in less time than the driver needs to take their pages.
const WORTH_TAKING: usize = 64 << 10;

/// An array's bytes on a device.
pub(crate) enum Placed {
    /// A copy.
    Copy(VulkanBuffer),
    /// The host's own bytes.
    There(VulkanBuffer),
}

impl Placed {
    pub(crate) fn address(&self) -> u64 {
        match self {
            Self::Copy(buffer) | Self::There(buffer) => buffer.address(),
        }
    }
}

/// What the host has an array's bytes in.
pub(crate) trait HostBytes: Bytes {
    /// Puts them where kernels of the device find them.
    fn place(&self, device: &VulkanDevice) -> Result<Placed, DeviceError>;

    /// Gets what kernels made of them.
    fn fetch(&mut self, placed: &Placed) -> Result<(), DeviceError>;
}

impl HostBytes for Vec<u8> {
    fn place(&self, device: &VulkanDevice) -> Result<Placed, DeviceError> {
        Ok(Placed::Copy(device.upload(self)?))
    }

    fn fetch(&mut self, placed: &Placed) -> Result<(), DeviceError> {
        match placed {
            Placed::Copy(buffer) => buffer.read(self),
            Placed::There(_) => Ok(()),
        }
    }
}

/// Whoever launches on borrowed bytes promises that they are there, can be written, and are nobody else's
/// until the launch has ended.
impl HostBytes for Borrowed {
    fn place(&self, device: &VulkanDevice) -> Result<Placed, DeviceError> {
        if self.bytes >= WORTH_TAKING && device.shares_host_memory() {
            // SAFETY: the launch's promise, above.
            if let Some(buffer) = unsafe { device.borrow(self.address, self.bytes) } {
                return Ok(Placed::There(buffer));
            }
        }
        let bytes = match self.bytes {
            0 => &[],
            // SAFETY: as above.
            bytes => unsafe { std::slice::from_raw_parts(self.address, bytes) },
        };
        Ok(Placed::Copy(device.upload(bytes)?))
    }

    fn fetch(&mut self, placed: &Placed) -> Result<(), DeviceError> {
        match placed {
            Placed::Copy(buffer) if self.bytes > 0 => {
                // SAFETY: as in `place`.
                buffer.read(unsafe { std::slice::from_raw_parts_mut(self.address, self.bytes) })
            }
            _ => Ok(()),
        }
    }
}
