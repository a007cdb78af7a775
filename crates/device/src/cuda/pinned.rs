//! Page-locked host memory, which the device copies from and to at full speed and in the
//! background.
//!
//! Invariant: the host sees the memory only while no transfer is in flight. Each transfer leaves an
//! event here, later transfers wait for earlier ones, and looking at the contents waits for the
//! last. A transfer recorded in a graph can run at any time after, so looking then waits for the
//! whole device.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::argument::DeviceElement;
use super::buffer::bytes_of;
use super::context::{Context, CudaDevice};
use super::event::Event;
use super::stream::Stream;
use crate::error::DeviceError;

/// A run of `T` in page-locked host memory.
pub struct PinnedBuffer<T> {
    memory: Arc<PinnedMemory>,
    length: usize,
    last_transfer: Event,
    in_flight: AtomicBool,
    in_graph: AtomicBool,
    element: PhantomData<T>,
}

struct PinnedMemory {
    pointer: *mut c_void,
    context: Arc<Context>,
}

// SAFETY: the memory is plain host memory; who may look at it when is decided by the buffer.
unsafe impl Send for PinnedMemory {}
// SAFETY: as above.
unsafe impl Sync for PinnedMemory {}

impl Drop for PinnedMemory {
    fn drop(&mut self) {
        if !self.pointer.is_null() && self.context.bind().is_ok() {
            // SAFETY: the pointer came from `mem_host_alloc`; the last buffer or graph that could
            // transfer to it is gone, and the driver waits for transfers that still run.
            unsafe { (self.context.driver.mem_free_host)(self.pointer) };
        }
    }
}

impl<T> fmt::Debug for PinnedBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "PinnedBuffer({} × {})",
            self.length,
            std::any::type_name::<T>()
        )
    }
}

impl<T: DeviceElement> PinnedBuffer<T> {
    /// A buffer of zeros.
    pub fn new(device: &CudaDevice, length: usize) -> Result<Self, DeviceError> {
        let context = device.context();
        context.bind()?;
        let bytes = bytes_of::<T>(length)?;
        let mut pointer = std::ptr::null_mut();
        if bytes > 0 {
            // SAFETY: the pointer is to a live pointer; flags 0 ask for plain pinned memory.
            let status = unsafe { (context.driver.mem_host_alloc)(&raw mut pointer, bytes, 0) };
            context.check(
                status,
                &format!("allocate {bytes} bytes of pinned host memory"),
            )?;
            // SAFETY: the allocation holds `bytes` bytes, and nobody else knows of it yet.
            unsafe { std::ptr::write_bytes(pointer.cast::<u8>(), 0, bytes) };
        }
        Ok(Self {
            memory: Arc::new(PinnedMemory {
                pointer,
                context: Arc::clone(context),
            }),
            length,
            last_transfer: Event::in_context(context)?,
            in_flight: AtomicBool::new(false),
            in_graph: AtomicBool::new(false),
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

    /// The contents, once no transfer is in flight.
    pub fn as_slice(&self) -> Result<&[T], DeviceError> {
        self.settle()?;
        if self.length == 0 {
            return Ok(&[]);
        }
        // SAFETY: the memory holds `length` elements, zeroed at first and valid in every byte
        // pattern; no transfer is in flight, and starting one that writes needs `&mut self`.
        Ok(unsafe { std::slice::from_raw_parts(self.memory.pointer.cast(), self.length) })
    }

    /// The contents for writing, once no transfer is in flight.
    pub fn as_mut_slice(&mut self) -> Result<&mut [T], DeviceError> {
        self.settle()?;
        if self.length == 0 {
            return Ok(&mut []);
        }
        // SAFETY: as in `as_slice`; the borrow is exclusive, so no transfer can start meanwhile.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.memory.pointer.cast(), self.length) })
    }

    fn settle(&self) -> Result<(), DeviceError> {
        if self.in_graph.load(Ordering::Acquire) {
            self.memory.context.synchronize()?;
        }
        if self.in_flight.load(Ordering::Acquire) {
            self.last_transfer.synchronize()?;
            self.in_flight.store(false, Ordering::Release);
        }
        Ok(())
    }

    pub(super) fn pointer(&self) -> *mut c_void {
        self.memory.pointer
    }

    pub(super) fn before_transfer(&self, stream: &Stream) -> Result<(), DeviceError> {
        stream.context().bind()?;
        if stream.is_recording() {
            stream.keep(Arc::clone(&self.memory) as _);
            self.in_graph.store(true, Ordering::Release);
        } else if self.in_flight.load(Ordering::Acquire) {
            // One event stands for all transfers, so each must come after the one before.
            stream.wait_for(&self.last_transfer)?;
        }
        Ok(())
    }

    pub(super) fn after_transfer(&self, stream: &Stream) -> Result<(), DeviceError> {
        if !stream.is_recording() {
            stream.record(&self.last_transfer)?;
            self.in_flight.store(true, Ordering::Release);
        }
        Ok(())
    }
}

impl<T> Drop for PinnedBuffer<T> {
    fn drop(&mut self) {
        if self.in_flight.load(Ordering::Acquire) {
            // A transfer that cannot be waited for has failed, and so has ended.
            let _ = self.last_transfer.synchronize();
        }
    }
}
