//! What an open device consists of beside its memory, made together and returned together.

use ash::vk;

/// The handles of a device. Those that were not made are null, which Vulkan ignores when it destroys them.
#[derive(Debug, Default)]
pub(super) struct Handles {
    pub(super) commands: vk::CommandPool,
    /// Raised at the end of what was submitted last.
    pub(super) finished: vk::Fence,
    /// One push constant of eight bytes.
    pub(super) layout: vk::PipelineLayout,
    pub(super) cache: vk::PipelineCache,
}

impl Handles {
    /// Makes all of them, or none.
    ///
    /// # Safety
    /// The device is open and has the queue family.
    pub(super) unsafe fn new(
        device: &ash::Device,
        family: u32,
        known_code: &[u8],
    ) -> Result<Self, vk::Result> {
        let mut handles = Self::default();
        // SAFETY: the caller's promise.
        let made = unsafe { handles.make(device, family, known_code) };
        match made {
            Ok(()) => Ok(handles),
            Err(result) => {
                // SAFETY: nothing was submitted yet.
                unsafe { handles.destroy(device) };
                Err(result)
            }
        }
    }

    /// # Safety
    /// The device is open and has the queue family.
    unsafe fn make(
        &mut self,
        device: &ash::Device,
        family: u32,
        known_code: &[u8],
    ) -> Result<(), vk::Result> {
        let commands = vk::CommandPoolCreateInfo::default()
            .queue_family_index(family)
            .flags(vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER);
        let ranges = [vk::PushConstantRange {
            stage_flags: vk::ShaderStageFlags::COMPUTE,
            offset: 0,
            size: 8,
        }];
        let layout = vk::PipelineLayoutCreateInfo::default().push_constant_ranges(&ranges);
        let cache = vk::PipelineCacheCreateInfo::default().initial_data(known_code);
        // SAFETY: the caller's promise; the structures outlive the calls.
        unsafe {
            self.commands = device.create_command_pool(&commands, None)?;
            self.finished = device.create_fence(&vk::FenceCreateInfo::default(), None)?;
            self.layout = device.create_pipeline_layout(&layout, None)?;
            self.cache = device.create_pipeline_cache(&cache, None)?;
        }
        Ok(())
    }

    /// # Safety
    /// The device is open, made these handles, and no work of it is under way.
    pub(super) unsafe fn destroy(&self, device: &ash::Device) {
        // SAFETY: the caller's promise.
        unsafe {
            device.destroy_pipeline_cache(self.cache, None);
            device.destroy_pipeline_layout(self.layout, None);
            device.destroy_fence(self.finished, None);
            device.destroy_command_pool(self.commands, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::ffi::{CStr, c_void};

    use super::*;

    thread_local! {
        /// How many of the four calls are still to succeed, and how many handles live.
        static LEFT: Cell<usize> = const { Cell::new(0) };
        static ALIVE: Cell<usize> = const { Cell::new(0) };
    }

    unsafe extern "system" fn create(
        _: vk::Device,
        _: *const c_void,
        _: *const c_void,
        handle: *mut u64,
    ) -> vk::Result {
        if LEFT.get() == 0 {
            return vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
        }
        LEFT.set(LEFT.get() - 1);
        ALIVE.set(ALIVE.get() + 1);
        // SAFETY: Vulkan's callers pass a place for the handle.
        unsafe { *handle = 7 };
        vk::Result::SUCCESS
    }

    unsafe extern "system" fn destroy(_: vk::Device, handle: u64, _: *const c_void) {
        ALIVE.set(ALIVE.get() - usize::from(handle != 0));
    }

    /// A device whose functions are those above.
    fn device() -> ash::Device {
        let load = |name: &CStr| match name.to_bytes() {
            b"vkCreateCommandPool"
            | b"vkCreateFence"
            | b"vkCreatePipelineLayout"
            | b"vkCreatePipelineCache" => create as *const c_void,
            name if name.starts_with(b"vkDestroy") => destroy as *const c_void,
            _ => std::ptr::null(),
        };
        // SAFETY: the functions that the test calls take what Vulkan's take, and look at no device.
        unsafe { ash::Device::load_with(load, vk::Device::null()) }
    }

    #[test]
    fn a_call_that_fails_leaves_nothing_behind() {
        let device = device();
        for succeed in 0..4 {
            LEFT.set(succeed);
            // SAFETY: no call reaches a driver.
            let made = unsafe { Handles::new(&device, 0, &[]) };
            assert_eq!(made.unwrap_err(), vk::Result::ERROR_OUT_OF_DEVICE_MEMORY);
            assert_eq!(ALIVE.get(), 0, "after {succeed} calls");
        }
        LEFT.set(4);
        // SAFETY: as above.
        let made = unsafe { Handles::new(&device, 0, &[]) }.unwrap();
        assert_eq!(ALIVE.get(), 4);
        // SAFETY: as above.
        unsafe { made.destroy(&device) };
        assert_eq!(ALIVE.get(), 0);
    }
}
