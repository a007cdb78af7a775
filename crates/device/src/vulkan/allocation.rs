//! A buffer and its memory: what slabs, large arrays and the staging buffer are made of, and pages of the
//! host.
//!
//! Invariant: host-visible memory that we map is coherent, so that nothing has to be flushed.

use ash::vk;

use super::device::Shared;
use crate::error::DeviceError;

/// What memory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Kernels work in it.
    Device,
    /// The host writes and reads it on the way to the device.
    Staging,
}

impl Use {
    /// What buffers of this use are made for.
    pub(super) fn flags(self) -> vk::BufferUsageFlags {
        use vk::BufferUsageFlags as Flags;
        let copies = Flags::TRANSFER_SRC | Flags::TRANSFER_DST;
        match self {
            Self::Device => copies | Flags::STORAGE_BUFFER | Flags::SHADER_DEVICE_ADDRESS,
            Self::Staging => copies,
        }
    }
}

/// A buffer and its memory. Whoever has it calls [`Allocation::free`].
#[derive(Debug)]
pub(super) struct Allocation {
    pub(super) buffer: vk::Buffer,
    pub(super) memory: vk::DeviceMemory,
    /// Where the host sees it, if it does.
    pub(super) host: Option<*mut u8>,
    /// Where kernels see it; zero for staging.
    pub(super) address: u64,
    /// Its length.
    pub(super) bytes: u64,
    /// What its memory takes of the device.
    pub(super) taken: u64,
}

// SAFETY: handles and a pointer to memory that lives as long as them; who reads and writes there is up to
// those who have places in it.
unsafe impl Send for Allocation {}
// SAFETY: as above; nothing is written through a shared reference.
unsafe impl Sync for Allocation {}

impl Allocation {
    pub(super) fn new(shared: &Shared, bytes: u64, usage: Use) -> Result<Self, DeviceError> {
        let device = &shared.device;
        let wanted = vk::BufferCreateInfo::default()
            .size(bytes)
            .usage(usage.flags());
        // SAFETY: the device is open, and `free` returns the buffer.
        let buffer = unsafe { device.create_buffer(&wanted, None) }
            .map_err(|result| shared.failed("make a buffer", result))?;
        // SAFETY: the buffer is this device's.
        let needs = unsafe { device.get_buffer_memory_requirements(buffer) };
        let made = allocate(shared, usage, needs)
            .and_then(|(memory, host)| Ok((memory, host, bind(shared, buffer, memory, usage)?)));
        match made {
            Ok((memory, host, address)) => Ok(Self {
                buffer,
                memory,
                host,
                address,
                bytes,
                taken: needs.size,
            }),
            Err(error) => {
                // SAFETY: nothing uses the buffer.
                unsafe { device.destroy_buffer(buffer, None) };
                Err(error)
            }
        }
    }

    /// Returns buffer and memory, unless work that did not end may still use them.
    pub(super) fn free(&self, shared: &Shared) {
        if shared.check().is_err() {
            return;
        }
        // SAFETY: all work was waited for; both are this device's. Freeing unmaps.
        unsafe {
            shared.device.destroy_buffer(self.buffer, None);
            shared.device.free_memory(self.memory, None);
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
    let full = || shared.out_of_memory(needs.size, heap);
    if needs.size > shared.memory.memory_heaps[heap].size {
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

/// Gives the buffer its memory, or returns the memory; where kernels then see it.
pub(super) fn bind(
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
            find(Flags::DEVICE_LOCAL | cached)
                .filter(|_| !shared.staged)
                .map(|n| (n, true)),
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
