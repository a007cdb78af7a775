//! A number in host memory that kernels watch while they run.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::argument::Argument;
use super::context::{Context, CudaDevice};
use super::mapped::Mapped;
use super::raw::DevicePointer;
use crate::error::DeviceError;

/// A 32-bit number that the host writes and kernels read at any time, as a buffer of one `u32`.
pub struct HostFlag {
    memory: Mapped,
}

impl fmt::Debug for HostFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostFlag({})", self.get())
    }
}

impl HostFlag {
    /// A flag that reads 0.
    pub fn new(device: &CudaDevice) -> Result<Self, DeviceError> {
        let memory = Mapped::new(device, size_of::<AtomicU32>())?;
        Ok(Self { memory })
    }

    fn number(&self) -> &AtomicU32 {
        // SAFETY: the allocation is page-aligned, holds four bytes and lives as long as `self`;
        // the host reaches it through this atomic alone.
        unsafe { &*self.memory.host().cast() }
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
        self.memory.pointer()
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        self.memory.context()
    }
}
