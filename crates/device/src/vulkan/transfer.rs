//! Copies between host and device.

use std::panic::Location;
use std::time::Duration;

use ash::vk;

use super::buffer::{Use, VulkanBuffer};
use super::device::Shared;
use crate::error::DeviceError;

/// Bytes of the buffer through which copies go where the host does not see device memory.
const STAGING: usize = 64 << 20;
/// A copy of [`STAGING`] bytes that takes longer does not end.
const LIMIT: Duration = Duration::from_secs(60);

impl VulkanBuffer {
    /// Copies bytes to the beginning of the buffer.
    #[track_caller]
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), DeviceError> {
        self.fits(bytes.len())?;
        if let Some(host) = self.host {
            // SAFETY: the mapping is at least as long as the buffer, which holds `bytes`; no work of the
            // device is under way, since all of it is waited for.
            unsafe { host.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
            return Ok(());
        }
        let staging = self.staging(bytes.len(), Location::caller())?;
        for (n, part) in bytes.chunks(STAGING).enumerate() {
            let at = host_side(&staging)?;
            // SAFETY: the staging buffer is as long as a part, and the copy before has ended.
            unsafe { at.copy_from_nonoverlapping(part.as_ptr(), part.len()) };
            let region = region(0, n * STAGING, part.len());
            copy(&self.shared, staging.buffer, self.buffer, region)?;
        }
        Ok(())
    }

    /// Copies the beginning of the buffer into `bytes`.
    #[track_caller]
    pub fn read(&self, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.fits(bytes.len())?;
        if let Some(host) = self.host {
            // SAFETY: as in `write`.
            unsafe { host.copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
            return Ok(());
        }
        let staging = self.staging(bytes.len(), Location::caller())?;
        for (n, part) in bytes.chunks_mut(STAGING).enumerate() {
            let region = region(n * STAGING, 0, part.len());
            copy(&self.shared, self.buffer, staging.buffer, region)?;
            let at = host_side(&staging)?;
            // SAFETY: the staging buffer is as long as a part, and the copy into it has ended.
            unsafe { at.copy_to_nonoverlapping(part.as_mut_ptr(), part.len()) };
        }
        Ok(())
    }

    fn fits(&self, bytes: usize) -> Result<(), DeviceError> {
        self.shared.check()?;
        if bytes > self.len() {
            return Err(DeviceError::BadSize {
                attempted: "copy to or from a Vulkan buffer",
                problem: format!("{bytes} bytes, and the buffer has {}", self.len()),
            });
        }
        Ok(())
    }

    fn staging(&self, bytes: usize, site: &'static Location<'static>) -> Result<Self, DeviceError> {
        Self::new(&self.shared, bytes.min(STAGING), Use::Staging, site)
    }
}

fn host_side(staging: &VulkanBuffer) -> Result<*mut u8, DeviceError> {
    staging.host.ok_or_else(|| DeviceError::VulkanLacks {
        device: staging.shared.facts.name.clone(),
        feature: "memory that the host sees".to_owned(),
    })
}

fn region(from: usize, to: usize, bytes: usize) -> vk::BufferCopy {
    vk::BufferCopy {
        src_offset: from as u64,
        dst_offset: to as u64,
        size: bytes as u64,
    }
}

fn copy(
    shared: &Shared,
    from: vk::Buffer,
    to: vk::Buffer,
    region: vk::BufferCopy,
) -> Result<(), DeviceError> {
    if region.size == 0 {
        return Ok(());
    }
    let commands = shared.command_buffer()?;
    let done = shared
        .record(commands, |device, commands| {
            // SAFETY: both buffers are this device's, were made for copies, and hold the region.
            unsafe { device.cmd_copy_buffer(commands, from, to, &[region]) };
        })
        .and_then(|()| shared.run(commands, "copy to or from the device", LIMIT));
    shared.return_command_buffer(commands);
    done
}
