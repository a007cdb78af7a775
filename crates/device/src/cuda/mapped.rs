//! Host memory that kernels see: allocated, mapped, and freed once nothing can reach it.
//!
//! Invariant: the memory outlives every kernel that was launched with it, because dropping it waits
//! for the device first.

use std::ffi::c_void;
use std::sync::Arc;

use super::context::{Context, CudaDevice};
use super::raw::DevicePointer;
use crate::error::DeviceError;

/// A mapped allocation, zeroed.
pub(super) struct Mapped {
    host: *mut c_void,
    device: DevicePointer,
    context: Arc<Context>,
}

// SAFETY: this type hands out the address only; who reaches the memory does so by atomics, or after
// it has waited for the device.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Drop for Mapped {
    fn drop(&mut self) {
        // A kernel may still know it; where that cannot be waited for, the memory is left.
        if self.context.synchronize().is_ok() {
            // SAFETY: the pointer came from `mem_host_alloc` and no work that knows it is left.
            unsafe { (self.context.driver.mem_free_host)(self.host) };
        }
    }
}

impl Mapped {
    /// `bytes` of zeros.
    pub(super) fn new(device: &CudaDevice, bytes: usize) -> Result<Self, DeviceError> {
        const DEVICE_MAPPED: u32 = 2;
        let context = device.context();
        context.bind()?;
        let mut host = std::ptr::null_mut();
        // SAFETY: the pointer is to a live pointer.
        let status =
            unsafe { (context.driver.mem_host_alloc)(&raw mut host, bytes, DEVICE_MAPPED) };
        context.check(status, "allocate host memory that the device sees")?;
        let mut mapped = Self {
            host,
            device: 0,
            context: Arc::clone(context),
        };
        // SAFETY: the allocation has `bytes` bytes and nobody else knows it yet.
        unsafe { host.cast::<u8>().write_bytes(0, bytes) };
        // SAFETY: `host` is the start of a mapped allocation; the flags must be 0.
        let status = unsafe {
            (context.driver.mem_host_get_device_pointer)(&raw mut mapped.device, host, 0)
        };
        context.check(status, "find host memory on the device")?;
        Ok(mapped)
    }

    /// The host's address, aligned to a page.
    pub(super) fn host(&self) -> *const c_void {
        self.host
    }

    /// The device's address of the same memory.
    pub(super) fn pointer(&self) -> DevicePointer {
        self.device
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }
}
