//! The host's memory as memory of a device, so that kernels work on arrays where they lie.
//!
//! A driver may refuse any of it, such as a file's pages or the same pages twice. Whoever asks then copies.

use std::panic::Location;

use ash::vk;

use super::allocation::{Allocation, Use, bind};
use super::buffer::VulkanBuffer;
use super::device::{Shared, VulkanDevice};
use super::facts::VulkanKind;

/// What the extension is named that imports it.
const FOREIGN: vk::ExternalMemoryHandleTypeFlags =
    vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT;
/// Arrays begin at a multiple of this, as kernels that read four numbers at a time want it.
const ALIGNED: usize = 16;
/// Atomic updates of bytes touch the whole word.
const WORD: usize = 4;

/// How a device takes memory of the host.
pub(super) struct HostMemory {
    functions: ash::ext::external_memory_host::Device,
    /// What is taken begins and ends at multiples of this.
    page: usize,
}

impl HostMemory {
    /// # Safety
    /// The device is open, is the physical one, and has the extension enabled.
    pub(super) unsafe fn of(
        instance: &ash::Instance,
        physical: vk::PhysicalDevice,
        device: &ash::Device,
    ) -> Self {
        let mut host = vk::PhysicalDeviceExternalMemoryHostPropertiesEXT::default();
        let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut host);
        // SAFETY: the device offers the extension whose structure is in the chain.
        unsafe { instance.get_physical_device_properties2(physical, &mut properties) };
        Self {
            functions: ash::ext::external_memory_host::Device::new(instance, device),
            page: host.min_imported_host_pointer_alignment as usize,
        }
    }
}

impl VulkanDevice {
    /// Whether the memory that kernels are fastest in is the host's own.
    pub fn shares_host_memory(&self) -> bool {
        let shared = matches!(
            self.facts().kind,
            VulkanKind::Integrated | VulkanKind::Software
        );
        shared && !self.shared.staged && self.shared.host_memory.is_some()
    }

    /// Bytes of the host as a buffer of the device, without a copy: what kernels write there, the host sees
    /// when they have ended. Nothing where driver or bytes do not permit it.
    ///
    /// # Safety
    /// The bytes can be read and written and stay where they are as long as the buffer, and, after work that
    /// did not end, for ever. Nobody else uses them while kernels run.
    #[track_caller]
    pub unsafe fn borrow(&self, first: *mut u8, bytes: usize) -> Option<VulkanBuffer> {
        let shared = &self.shared;
        let how = shared.host_memory.as_ref()?;
        let (address, page) = (first.addr(), how.page);
        if bytes == 0 || !address.is_multiple_of(ALIGNED) || !bytes.is_multiple_of(WORD) {
            return None;
        }
        let at = address % page;
        let length = (at + bytes).next_multiple_of(page);
        let memory = taken(shared, how, first.wrapping_sub(at), length as u64)?;
        let site = Location::caller();
        Some(VulkanBuffer::of_host(
            shared, memory, at as u64, first, bytes, site,
        ))
    }
}

/// Whole pages of the host as memory of the device.
fn taken(shared: &Shared, how: &HostMemory, pages: *mut u8, bytes: u64) -> Option<Allocation> {
    shared.check().ok()?;
    let device = &shared.device;
    let mut foreign = vk::ExternalMemoryBufferCreateInfo::default().handle_types(FOREIGN);
    let wanted = vk::BufferCreateInfo::default()
        .size(bytes)
        .usage(Use::Device.flags())
        .push_next(&mut foreign);
    // SAFETY: the device is open, and whoever has the allocation returns the buffer.
    let buffer = unsafe { device.create_buffer(&wanted, None) }.ok()?;
    let bound = imported(shared, how, pages, bytes, buffer).and_then(|memory| {
        let address = bind(shared, buffer, memory, Use::Device).ok()?;
        Some((memory, address))
    });
    let Some((memory, address)) = bound else {
        // SAFETY: nothing uses the buffer.
        unsafe { device.destroy_buffer(buffer, None) };
        return None;
    };
    Some(Allocation {
        buffer,
        memory,
        host: None,
        address,
        bytes,
        taken: 0,
    })
}

fn imported(
    shared: &Shared,
    how: &HostMemory,
    pages: *mut u8,
    bytes: u64,
    buffer: vk::Buffer,
) -> Option<vk::DeviceMemory> {
    let mut can = vk::MemoryHostPointerPropertiesEXT::default();
    // SAFETY: the extension is enabled, the pages begin at a multiple of what it wants, and the structures
    // outlive the calls, here and below.
    let (needs, known) = unsafe {
        let ask = how.functions.fp().get_memory_host_pointer_properties_ext;
        let known = ask(shared.device.handle(), FOREIGN, pages.cast(), &mut can);
        (shared.device.get_buffer_memory_requirements(buffer), known)
    };
    known.result().ok()?;
    let coherent = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
    let kind = (0..shared.memory.memory_type_count).find(|kind| {
        let flags = shared.memory.memory_types[*kind as usize].property_flags;
        (can.memory_type_bits & needs.memory_type_bits) >> kind & 1 == 1 && flags.contains(coherent)
    })?;
    let mut pointer = vk::ImportMemoryHostPointerInfoEXT::default()
        .handle_type(FOREIGN)
        .host_pointer(pages.cast());
    let mut addressed =
        vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
    let wanted = vk::MemoryAllocateInfo::default()
        .allocation_size(bytes)
        .memory_type_index(kind)
        .push_next(&mut pointer)
        .push_next(&mut addressed);
    // SAFETY: the pages are the caller's for as long as the memory, and the type is one of theirs.
    (needs.size <= bytes)
        .then(|| unsafe { shared.device.allocate_memory(&wanted, None) })?
        .ok()
}
