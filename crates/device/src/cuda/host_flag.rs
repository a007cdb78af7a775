//! A number in host memory that kernels watch while they run.
//!
//! Invariant: the memory outlives every kernel that was launched with it, because dropping the
//! flag waits for the device first.

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::argument::Argument;
use super::context::{Context, CudaDevice};
use super::raw::DevicePointer;
use crate::error::DeviceError;

/// A 32-bit number that the host writes and kernels read at any time, as a buffer of one `u32`.
pub struct HostFlag {
    host: *mut c_void,
    device: DevicePointer,
    context: Arc<Context>,
}

// SAFETY: the host's side is only reached as an atomic.
unsafe impl Send for HostFlag {}
// SAFETY: as above.
unsafe impl Sync for HostFlag {}

impl fmt::Debug for HostFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostFlag({})", self.get())
    }
}

impl Drop for HostFlag {
    fn drop(&mut self) {
        // A kernel may still be watching; where that cannot be waited for, the memory is left.
        if self.context.synchronize().is_ok() {
            // SAFETY: the pointer came from `mem_host_alloc` and no work that knows it is left.
            unsafe { (self.context.driver.mem_free_host)(self.host) };
        }
    }
}

impl HostFlag {
    /// A flag that reads 0.
    pub fn new(device: &CudaDevice) -> Result<Self, DeviceError> {
        const DEVICE_MAPPED: u32 = 2;
        let context = device.context();
        context.bind()?;
        let mut host = std::ptr::null_mut();
        // SAFETY: the pointer is to a live pointer.
        let status = unsafe {
            (context.driver.mem_host_alloc)(&raw mut host, size_of::<AtomicU32>(), DEVICE_MAPPED)
        };
        context.check(status, "allocate host memory that the device sees")?;
        let mut flag = Self {
            host,
            device: 0,
            context: Arc::clone(context),
        };
        flag.set(0);
        // SAFETY: `host` is the start of a mapped allocation; the flags must be 0.
        let status =
            unsafe { (context.driver.mem_host_get_device_pointer)(&raw mut flag.device, host, 0) };
        context.check(status, "find host memory on the device")?;
        Ok(flag)
    }

    fn number(&self) -> &AtomicU32 {
        // SAFETY: the allocation is page-aligned, holds four bytes and lives as long as `self`;
        // the host reaches it through this atomic alone.
        unsafe { &*self.host.cast() }
    }

    /// What the flag reads.
    pub fn get(&self) -> u32 {
        self.number().load(Ordering::Acquire)
    }

    /// Writes the flag; running kernels see it within a microsecond or two.
    pub fn set(&self, value: u32) {
        self.number().store(value, Ordering::Release);
    }

    /// The flag as a kernel's input.
    pub fn watch(&self) -> Argument<'_> {
        Argument::flag(self)
    }

    pub(super) fn pointer(&self) -> DevicePointer {
        self.device
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }
}
