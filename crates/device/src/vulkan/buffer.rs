//! Memory with a 64-bit address on the device: a part of a slab, memory of its own, or the host's.

use std::panic::Location;
use std::sync::{Arc, PoisonError};

use ash::vk;

use super::allocation::{Allocation, Use};
use super::device::{Shared, VulkanDevice};
use super::pool::Place;
use crate::error::DeviceError;

/// Bytes on a device.
pub struct VulkanBuffer {
    pub(super) shared: Arc<Shared>,
    memory: Memory,
    pub(super) buffer: vk::Buffer,
    /// Where it begins in `buffer`.
    pub(super) at: u64,
    /// Where the host sees it, if it does.
    pub(super) host: Option<*mut u8>,
    address: u64,
    bytes: usize,
    site: &'static Location<'static>,
}

/// Whose memory it is.
enum Memory {
    Own(Allocation),
    Lent(Place),
}

impl Memory {
    fn bytes(&self) -> u64 {
        match self {
            Self::Own(own) => own.taken,
            Self::Lent(place) => place.bytes,
        }
    }
}

// SAFETY: the mapped bytes belong to this buffer alone; they are read and written through methods that take
// `&mut self` or copy under `&self` after the device's work has ended.
unsafe impl Send for VulkanBuffer {}
// SAFETY: as above; nothing is written through `&self`.
unsafe impl Sync for VulkanBuffer {}

impl std::fmt::Debug for VulkanBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "VulkanBuffer({} bytes)", self.bytes)
    }
}

impl VulkanDevice {
    /// Memory of the device; what is in it is not known.
    #[track_caller]
    pub fn buffer(&self, bytes: usize) -> Result<VulkanBuffer, DeviceError> {
        VulkanBuffer::new(&self.shared, bytes, Location::caller())
    }

    /// Memory of the device with these bytes.
    #[track_caller]
    pub fn upload(&self, bytes: &[u8]) -> Result<VulkanBuffer, DeviceError> {
        let mut buffer = self.buffer(bytes.len())?;
        buffer.write(bytes)?;
        Ok(buffer)
    }
}

impl VulkanBuffer {
    fn new(
        shared: &Arc<Shared>,
        bytes: usize,
        site: &'static Location<'static>,
    ) -> Result<Self, DeviceError> {
        shared.check()?;
        // A buffer of no bytes is not allowed, and atomic updates of bytes touch the whole word.
        let size = bytes.max(16).next_multiple_of(4) as u64;
        let mut pool = shared.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let made = match pool.lend(shared, size)? {
            Some((place, slab)) => Self {
                shared: Arc::clone(shared),
                buffer: slab.buffer,
                at: place.at,
                // SAFETY: the place lies inside the slab, which is mapped as a whole.
                host: slab.host.map(|host| unsafe { host.add(place.at as usize) }),
                address: slab.address + place.at,
                memory: Memory::Lent(place),
                bytes,
                site,
            },
            None => {
                let own = Allocation::new(shared, size, Use::Device)?;
                Self {
                    shared: Arc::clone(shared),
                    buffer: own.buffer,
                    at: 0,
                    host: own.host,
                    address: own.address,
                    memory: Memory::Own(own),
                    bytes,
                    site,
                }
            }
        };
        drop(pool);
        shared.ledger.add(made.memory.bytes(), site);
        Ok(made)
    }

    /// Bytes of the host as a buffer: `memory` holds them from byte `at` on.
    pub(super) fn of_host(
        shared: &Arc<Shared>,
        memory: Allocation,
        at: u64,
        host: *mut u8,
        bytes: usize,
        site: &'static Location<'static>,
    ) -> Self {
        shared.ledger.add(memory.taken, site);
        Self {
            shared: Arc::clone(shared),
            buffer: memory.buffer,
            at,
            host: Some(host),
            address: memory.address + at,
            memory: Memory::Own(memory),
            bytes,
            site,
        }
    }

    /// Where kernels find it.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its length.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }
}

impl Drop for VulkanBuffer {
    fn drop(&mut self) {
        self.shared.ledger.remove(self.memory.bytes(), self.site);
        match &self.memory {
            Memory::Own(own) => own.free(&self.shared),
            Memory::Lent(place) => {
                let mut pool = (self.shared.pool.lock()).unwrap_or_else(PoisonError::into_inner);
                pool.take_back(&self.shared, place);
            }
        }
    }
}
