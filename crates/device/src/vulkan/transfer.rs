//! Copies between host and device.

use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use ash::vk;

use super::allocation::Allocation;
use super::buffer::VulkanBuffer;
use super::device::Shared;
use super::pool::{Pool, STAGING};
use crate::error::DeviceError;

/// A copy of [`STAGING`] bytes that takes longer does not end.
const LIMIT: Duration = Duration::from_secs(60);

impl VulkanBuffer {
    /// Copies bytes to the beginning of the buffer.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), DeviceError> {
        self.fits(bytes.len())?;
        if let Some(host) = self.host {
            // SAFETY: the mapping is at least as long as the buffer, which holds `bytes`; no work of the
            // device is under way, since all of it is waited for.
            unsafe { host.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
            return Ok(());
        }
        let mut pool = self.pool();
        let staging = pool.staging(&self.shared, bytes.len() as u64)?;
        let host = host_side(&self.shared, staging)?;
        for (n, part) in bytes.chunks(part_bytes(staging)).enumerate() {
            // SAFETY: the staging buffer is as long as a part, the copy before has ended, and nobody else has
            // it while the pool is locked.
            unsafe { host.copy_from_nonoverlapping(part.as_ptr(), part.len()) };
            let to = self.at + (n * part_bytes(staging)) as u64;
            let region = region(0, to, part.len());
            copy(&self.shared, staging.buffer, self.buffer, region)?;
        }
        Ok(())
    }

    /// Copies the beginning of the buffer into `bytes`.
    pub fn read(&self, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.fits(bytes.len())?;
        if let Some(host) = self.host {
            // SAFETY: as in `write`.
            unsafe { host.copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
            return Ok(());
        }
        let mut pool = self.pool();
        let staging = pool.staging(&self.shared, bytes.len() as u64)?;
        let host = host_side(&self.shared, staging)?;
        for (n, part) in bytes.chunks_mut(part_bytes(staging)).enumerate() {
            let from = self.at + (n * part_bytes(staging)) as u64;
            let region = region(from, 0, part.len());
            copy(&self.shared, self.buffer, staging.buffer, region)?;
            // SAFETY: the staging buffer is as long as a part, the copy into it has ended, and nobody else has
            // it while the pool is locked.
            unsafe { host.copy_to_nonoverlapping(part.as_mut_ptr(), part.len()) };
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

    fn pool(&self) -> MutexGuard<'_, Pool> {
        (self.shared.pool.lock()).unwrap_or_else(PoisonError::into_inner)
    }
}

fn part_bytes(staging: &Allocation) -> usize {
    staging.bytes.min(STAGING) as usize
}

fn host_side(shared: &Shared, staging: &Allocation) -> Result<*mut u8, DeviceError> {
    staging.host.ok_or_else(|| DeviceError::VulkanLacks {
        device: shared.facts.name.clone(),
        feature: "memory that the host sees".to_owned(),
    })
}

fn region(from: u64, to: u64, bytes: usize) -> vk::BufferCopy {
    vk::BufferCopy {
        src_offset: from,
        dst_offset: to,
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
