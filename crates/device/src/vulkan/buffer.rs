//! Device memory with a 64-bit address.
//!
//! Invariant: host-visible memory that we map is coherent, so that nothing has to be flushed.

use std::panic::Location;
use std::sync::Arc;

use ash::vk;
use warpsmith_core::Bytes;

use super::device::{Shared, VulkanDevice};
use crate::error::DeviceError;

/// What memory is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Kernels work in it.
    Device,
    /// The host writes and reads it on the way to the device.
    Staging,
}

/// Bytes on a device.
pub struct VulkanBuffer {
    pub(super) shared: Arc<Shared>,
    pub(super) buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    /// Where the host sees it, if it does.
    pub(super) host: Option<*mut u8>,
    address: u64,
    bytes: usize,
    taken: u64,
    site: &'static Location<'static>,
}

// SAFETY: the mapped pointer belongs to this buffer alone; it is read and written through methods that take
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
        VulkanBuffer::new(&self.shared, bytes, Use::Device, Location::caller())
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
    pub(super) fn new(
        shared: &Arc<Shared>,
        bytes: usize,
        usage: Use,
        site: &'static Location<'static>,
    ) -> Result<Self, DeviceError> {
        shared.check()?;
        let device = &shared.device;
        let mut flags = vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST;
        if usage == Use::Device {
            flags |=
                vk::BufferUsageFlags::STORAGE_BUFFER | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS;
        }
        // A buffer of no bytes is not allowed, and atomic updates of bytes touch the whole word.
        let size = bytes.max(16).next_multiple_of(4) as u64;
        let wanted = vk::BufferCreateInfo::default().size(size).usage(flags);
        // SAFETY: the device is open, and `Drop` returns the buffer.
        let buffer = unsafe { device.create_buffer(&wanted, None) }
            .map_err(|result| shared.failed("make a buffer", result))?;
        // SAFETY: the buffer is this device's.
        let needs = unsafe { device.get_buffer_memory_requirements(buffer) };
        let made = Self::allocate(shared, usage, needs)
            .and_then(|(memory, host)| Ok((memory, host, bind(shared, buffer, memory, usage)?)));
        match made {
            Ok((memory, host, address)) => {
                shared.ledger.add(needs.size, site);
                Ok(Self {
                    shared: Arc::clone(shared),
                    buffer,
                    memory,
                    host,
                    address,
                    bytes,
                    taken: needs.size,
                    site,
                })
            }
            Err(error) => {
                // SAFETY: nothing uses the buffer.
                unsafe { device.destroy_buffer(buffer, None) };
                Err(error)
            }
        }
    }

    fn allocate(
        shared: &Shared,
        usage: Use,
        needs: vk::MemoryRequirements,
    ) -> Result<(vk::DeviceMemory, Option<*mut u8>), DeviceError> {
        let Some((kind, visible)) = memory_type(shared, usage, needs.memory_type_bits) else {
            return Err(DeviceError::VulkanLacks {
                device: shared.facts.name.clone(),
                feature: "memory for buffers".to_owned(),
            });
        };
        let mut addressed =
            vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
        let mut wanted = vk::MemoryAllocateInfo::default()
            .allocation_size(needs.size)
            .memory_type_index(kind);
        if usage == Use::Device {
            wanted = wanted.push_next(&mut addressed);
        }
        let heap = shared.memory.memory_types[kind as usize].heap_index as usize;
        let total = shared.memory.memory_heaps[heap].size;
        let live = shared.ledger.stats().live;
        let full = || DeviceError::OutOfMemory {
            asked: Bytes(needs.size),
            free: Bytes(total.saturating_sub(live)),
            total: Bytes(total),
        };
        if needs.size > total {
            return Err(full());
        }
        // SAFETY: the type is one that the buffer allows, and the structures outlive the call.
        let memory = unsafe { shared.device.allocate_memory(&wanted, None) };
        let memory = memory.map_err(|result| match result {
            vk::Result::ERROR_OUT_OF_DEVICE_MEMORY | vk::Result::ERROR_OUT_OF_HOST_MEMORY => full(),
            result => shared.failed("allocate device memory", result),
        })?;
        if !visible {
            return Ok((memory, None));
        }
        // SAFETY: the memory is host-visible and not mapped; it is unmapped when it is freed.
        let mapped = unsafe {
            shared
                .device
                .map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty())
        };
        match mapped {
            Ok(pointer) => Ok((memory, Some(pointer.cast()))),
            Err(result) => {
                // SAFETY: nothing is bound to it.
                unsafe { shared.device.free_memory(memory, None) };
                Err(shared.failed("map device memory", result))
            }
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

fn bind(
    shared: &Shared,
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    usage: Use,
) -> Result<u64, DeviceError> {
    // SAFETY: both are this device's, the memory is as large as the buffer needs, and neither is in use.
    if let Err(result) = unsafe { shared.device.bind_buffer_memory(buffer, memory, 0) } {
        // SAFETY: the binding failed, so nothing uses it.
        unsafe { shared.device.free_memory(memory, None) };
        return Err(shared.failed("bind device memory", result));
    }
    if usage == Use::Staging {
        return Ok(0);
    }
    let wanted = vk::BufferDeviceAddressInfo::default().buffer(buffer);
    // SAFETY: the feature is enabled, and the buffer was made for it.
    Ok(unsafe { shared.device.get_buffer_device_address(&wanted) })
}

/// The best type of memory for a use, and whether the host sees it.
fn memory_type(shared: &Shared, usage: Use, allowed: u32) -> Option<(u32, bool)> {
    use vk::MemoryPropertyFlags as Flags;
    let host = Flags::HOST_VISIBLE | Flags::HOST_COHERENT;
    let cached = host | Flags::HOST_CACHED;
    let types = &shared.memory.memory_types[..shared.memory.memory_type_count as usize];
    let find = |flags: Flags| {
        let fits = |n: &usize| allowed >> n & 1 == 1 && types[*n].property_flags.contains(flags);
        (0..types.len()).find(fits)
    };
    // Memory that is the device's own and fast for the host too is one memory for both; else the host goes
    // through a copy, since reads over the bus are slow.
    let (first, second) = match usage {
        Use::Device => (
            find(Flags::DEVICE_LOCAL | cached).map(|n| (n, true)),
            find(Flags::DEVICE_LOCAL).map(|n| (n, false)),
        ),
        Use::Staging => (
            find(cached).map(|n| (n, true)),
            find(host).map(|n| (n, true)),
        ),
    };
    let other = || find(Flags::empty()).map(|n| (n, false));
    let (n, visible) = first.or(second).or_else(other)?;
    Some((n as u32, visible))
}

impl Drop for VulkanBuffer {
    fn drop(&mut self) {
        self.shared.ledger.remove(self.taken, self.site);
        if self.shared.check().is_err() {
            return;
        }
        // SAFETY: all work was waited for; both are this device's. Freeing unmaps.
        unsafe {
            self.shared.device.destroy_buffer(self.buffer, None);
            self.shared.device.free_memory(self.memory, None);
        }
    }
}
