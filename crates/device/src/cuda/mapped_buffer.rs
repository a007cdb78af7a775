//! Host memory that kernels write in place: nothing is copied, every store crosses the bus.
//!
//! Invariants: the host looks at the contents only after it has waited for the device; the memory
//! outlives every kernel and graph that knows it.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::argument::{Argument, DeviceElement};
use super::buffer::bytes_of;
use super::context::CudaDevice;
use super::mapped::Mapped;
use crate::error::DeviceError;

/// A run of `T` in host memory that is mapped into the device's.
pub struct MappedBuffer<T> {
    memory: Arc<Mapped>,
    length: usize,
    element: PhantomData<T>,
}

impl<T> fmt::Debug for MappedBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "MappedBuffer({} × {})",
            self.length,
            std::any::type_name::<T>()
        )
    }
}

impl<T: DeviceElement> MappedBuffer<T> {
    /// A buffer of zeros.
    pub fn new(device: &CudaDevice, length: usize) -> Result<Self, DeviceError> {
        // The driver refuses empty allocations.
        let bytes = bytes_of::<T>(length.max(1))?;
        Ok(Self {
            memory: Arc::new(Mapped::new(device, bytes)?),
            length,
            element: PhantomData,
        })
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The contents, once everything that was queued on the device is done.
    pub fn as_slice(&self) -> Result<&[T], DeviceError> {
        self.memory.context().synchronize()?;
        // SAFETY: the allocation is page-aligned and holds `length` elements, zeroed at first and
        // valid in every byte pattern; the device is idle, and naming this memory in a launch needs
        // `&mut self`.
        Ok(unsafe { std::slice::from_raw_parts(self.memory.host().cast(), self.length) })
    }

    /// The contents for writing, once everything that was queued on the device is done.
    pub fn as_mut_slice(&mut self) -> Result<&mut [T], DeviceError> {
        self.memory.context().synchronize()?;
        // SAFETY: as in `as_slice`; the borrow is exclusive, so no launch can name the memory.
        Ok(unsafe {
            std::slice::from_raw_parts_mut(self.memory.host().cast_mut().cast(), self.length)
        })
    }

    /// This buffer as a kernel's output.
    pub fn write(&mut self) -> Argument<'_> {
        Argument::mapped::<T>(&self.memory, self.length)
    }
}
