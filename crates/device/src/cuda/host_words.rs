//! A few numbers in host memory that kernels write: read without a copy once they are done.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::argument::Argument;
use super::context::{Context, CudaDevice};
use super::mapped::Mapped;
use super::raw::DevicePointer;
use crate::error::DeviceError;

/// 64-bit numbers that kernels write, as a writable buffer of `u64`, and the host reads. A few, not
/// many: each write crosses the bus.
pub struct HostWords {
    memory: Mapped,
    length: usize,
}

impl fmt::Debug for HostWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostWords({})", self.length)
    }
}

impl HostWords {
    /// `length` zeros; at least one.
    pub fn new(device: &CudaDevice, length: usize) -> Result<Self, DeviceError> {
        let length = length.max(1);
        let memory = Mapped::new(device, length * size_of::<AtomicU64>())?;
        Ok(Self { memory, length })
    }

    /// The number at `index`; what a kernel wrote is there once the stream has been waited for.
    pub fn get(&self, index: usize) -> Option<u64> {
        if index >= self.length {
            return None;
        }
        // SAFETY: the allocation is page-aligned, holds `length` numbers of eight bytes and lives
        // as long as `self`; the host reaches them as atomics alone.
        let number = unsafe { &*self.memory.host().cast::<AtomicU64>().add(index) };
        Some(number.load(Ordering::Acquire))
    }

    /// The numbers as a kernel's output.
    pub fn write(&mut self) -> Argument<'_> {
        Argument::words(self)
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn pointer(&self) -> DevicePointer {
        self.memory.pointer()
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        self.memory.context()
    }
}
