//! Device memory with an element type.
//!
//! Invariants: an allocation is returned exactly once, to the driver or to its pool, when the last
//! buffer or graph that refers to it is gone; every byte pattern is a valid element, so unwritten
//! memory is wrong data at worst.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

use warpsmith_core::Bytes;

use super::argument::{Argument, DeviceElement};
use super::context::Context;
use super::pool::PoolShelf;
use super::raw::{DevicePointer, error_code};
use super::stream::Stream;
use crate::error::DeviceError;

/// A run of `T` in device memory.
pub struct DeviceBuffer<T> {
    memory: Arc<Memory>,
    length: usize,
    element: PhantomData<T>,
}

/// One allocation.
pub(super) struct Memory {
    pub(super) pointer: DevicePointer,
    pub(super) bytes: usize,
    pub(super) context: Arc<Context>,
    pub(super) site: &'static Location<'static>,
    pub(super) home: Home,
}

/// Where an allocation goes when it is no longer needed.
pub(super) enum Home {
    Driver,
    Pool(Arc<PoolShelf>),
    /// It belongs to somebody else, who gives it back.
    Elsewhere,
}

/// Takes memory from the driver and enters it in the context's ledger under `site`.
pub(super) fn take_from_driver(
    context: &Context,
    bytes: usize,
    site: &'static Location<'static>,
) -> Result<DevicePointer, DeviceError> {
    // The driver refuses empty allocations; an empty buffer needs no address.
    if bytes == 0 {
        return Ok(0);
    }
    context.bind()?;
    let mut pointer = 0;
    // SAFETY: the pointer is to a live device pointer.
    let status = unsafe { (context.driver.mem_alloc)(&raw mut pointer, bytes) };
    if status == error_code::OUT_OF_MEMORY {
        let memory = context.memory()?;
        return Err(DeviceError::OutOfMemory {
            asked: Bytes(bytes as u64),
            free: Bytes(memory.free),
            total: Bytes(memory.total),
        });
    }
    context.check(status, "allocate device memory")?;
    context.ledger.add(bytes as u64, site);
    Ok(pointer)
}

/// Gives memory back that [`take_from_driver`] took with the same size and site.
///
/// # Safety
/// Nothing uses the memory from here on but work that is already queued.
pub(super) unsafe fn give_to_driver(
    context: &Context,
    pointer: DevicePointer,
    bytes: usize,
    site: &'static Location<'static>,
) {
    if bytes == 0 {
        return;
    }
    context.ledger.remove(bytes as u64, site);
    if context.bind().is_ok() {
        // SAFETY: the pointer came from `mem_alloc`; the driver waits for work that still uses it.
        unsafe { (context.driver.mem_free)(pointer) };
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        match &self.home {
            Home::Elsewhere => {}
            Home::Pool(shelf) => shelf.put_back(self.pointer, self.bytes, self.site),
            // SAFETY: this was the last owner.
            Home::Driver => unsafe {
                give_to_driver(&self.context, self.pointer, self.bytes, self.site);
            },
        }
    }
}

impl<T> fmt::Debug for DeviceBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "DeviceBuffer({} × {})",
            self.length,
            std::any::type_name::<T>()
        )
    }
}

impl<T: DeviceElement> DeviceBuffer<T> {
    pub(super) fn alloc(
        context: &Arc<Context>,
        length: usize,
        site: &'static Location<'static>,
    ) -> Result<Self, DeviceError> {
        let bytes = bytes_of::<T>(length)?;
        let pointer = take_from_driver(context, bytes, site)?;
        let context = Arc::clone(context);
        Ok(Self::from_memory(
            Memory {
                pointer,
                bytes,
                context,
                site,
                home: Home::Driver,
            },
            length,
        ))
    }

    pub(super) fn borrowed(
        context: &Arc<Context>,
        pointer: DevicePointer,
        length: usize,
        site: &'static Location<'static>,
    ) -> Result<Self, DeviceError> {
        let memory = Memory {
            pointer,
            bytes: bytes_of::<T>(length)?,
            context: Arc::clone(context),
            site,
            home: Home::Elsewhere,
        };
        Ok(Self::from_memory(memory, length))
    }

    pub(super) fn from_memory(memory: Memory, length: usize) -> Self {
        Self {
            memory: Arc::new(memory),
            length,
            element: PhantomData,
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.length * size_of::<T>()
    }

    /// The address on the device, for other libraries. It is valid while the buffer lives.
    pub fn pointer(&self) -> u64 {
        self.memory.pointer
    }

    pub(super) fn memory(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::clone(&self.memory) as _
    }

    pub(super) fn allocation(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// This buffer as a kernel's input.
    pub fn read(&self) -> Argument<'_> {
        Argument::buffer::<T>(&self.memory, self.length, false)
    }

    /// This buffer as a kernel's output.
    pub fn write(&mut self) -> Argument<'_> {
        Argument::buffer::<T>(&self.memory, self.length, true)
    }

    /// Copies `data` here and waits until that is done.
    pub fn upload(&mut self, stream: &Stream, data: &[T]) -> Result<(), DeviceError> {
        self.check_length("upload to a buffer", data.len())?;
        let context = &self.memory.context;
        context.bind()?;
        // SAFETY: source and destination hold `bytes()` bytes; the source is borrowed until the
        // copy is over, because of the wait below.
        let status = unsafe {
            (context.driver.memcpy_htod_async)(
                self.memory.pointer,
                data.as_ptr().cast(),
                self.bytes(),
                stream.handle(),
            )
        };
        context.check(status, "upload to a buffer")?;
        stream.synchronize()
    }

    /// Copies the contents to `data` and waits until that is done.
    pub fn download_into(&self, stream: &Stream, data: &mut [T]) -> Result<(), DeviceError> {
        self.check_length("download a buffer", data.len())?;
        let context = &self.memory.context;
        context.bind()?;
        // SAFETY: source and destination hold `bytes()` bytes; the destination is borrowed until
        // the copy is over, because of the wait below, and every byte pattern is a valid `T`.
        let status = unsafe {
            (context.driver.memcpy_dtoh_async)(
                data.as_mut_ptr().cast(),
                self.memory.pointer,
                self.bytes(),
                stream.handle(),
            )
        };
        context.check(status, "download a buffer")?;
        stream.synchronize()
    }

    /// The contents, after everything queued on `stream` so far.
    pub fn download(&self, stream: &Stream) -> Result<Vec<T>, DeviceError> {
        let mut data = vec![T::ZERO; self.length];
        self.download_into(stream, &mut data)?;
        Ok(data)
    }

    /// Queues setting every byte to `byte`: 0 for zeros, 0xFF for poison (NaN in floats).
    pub fn fill_bytes(&mut self, stream: &Stream, byte: u8) -> Result<(), DeviceError> {
        if self.length == 0 {
            return Ok(());
        }
        let context = &self.memory.context;
        context.bind()?;
        // SAFETY: the allocation holds `bytes()` bytes.
        let status = unsafe {
            (context.driver.memset_d8_async)(
                self.memory.pointer,
                byte,
                self.bytes(),
                stream.handle(),
            )
        };
        context.check(status, "fill a buffer")?;
        if stream.is_recording() {
            stream.keep(self.memory());
        }
        Ok(())
    }

    /// Queues setting every `pattern.len()` bytes to `pattern`, of which the buffer holds whole ones.
    pub fn fill_pattern(&mut self, stream: &Stream, pattern: &[u8]) -> Result<(), DeviceError> {
        if self.length == 0 {
            return Ok(());
        }
        let (bytes, size) = (self.bytes(), pattern.len());
        if size == 0 || !bytes.is_multiple_of(size) {
            return Err(DeviceError::BadSize {
                attempted: "fill a buffer",
                problem: format!("{bytes} bytes are not made of patterns of {size}"),
            });
        }
        let context = &self.memory.context;
        context.bind()?;
        let pointer = self.memory.pointer;
        let aligned =
            |width: usize| size.is_multiple_of(width) && pointer.is_multiple_of(width as u64);
        let width = [4, 2, 1].into_iter().find(|width| aligned(*width));
        let width = width.unwrap_or(1);
        let words = || pattern.chunks_exact(width);
        // Words that are all the same are one row; else each word of the pattern is a column.
        let uniform = words().all(|word| word == &pattern[..width]);
        let (columns, across, down) = match uniform {
            true => (1, bytes / width, 1),
            false => (size / width, 1, bytes / size),
        };
        let pitch = if uniform { bytes } else { size };
        for (at, word) in words().enumerate().take(columns) {
            let to = pointer + (at * width) as u64;
            let handle = stream.handle();
            // SAFETY: `down` rows of `across` words, `pitch` bytes apart, lie in the allocation, and so they
            // do from the `at`-th word of the first row on.
            let status = unsafe {
                match *word {
                    [a, b, c, d] => {
                        let word = u32::from_le_bytes([a, b, c, d]);
                        (context.driver.memset_d2d32_async)(to, pitch, word, across, down, handle)
                    }
                    [a, b] => {
                        let word = u16::from_le_bytes([a, b]);
                        (context.driver.memset_d2d16_async)(to, pitch, word, across, down, handle)
                    }
                    _ => {
                        (context.driver.memset_d2d8_async)(to, pitch, word[0], across, down, handle)
                    }
                }
            };
            context.check(status, "fill a buffer")?;
        }
        if stream.is_recording() {
            stream.keep(self.memory());
        }
        Ok(())
    }

    fn check_length(&self, attempted: &'static str, length: usize) -> Result<(), DeviceError> {
        if length == self.length {
            return Ok(());
        }
        let problem = format!(
            "the buffer has {} elements, the slice {length}",
            self.length
        );
        Err(DeviceError::BadSize { attempted, problem })
    }
}

/// Size of `length` elements, or an error where that is no size.
pub(super) fn bytes_of<T>(length: usize) -> Result<usize, DeviceError> {
    length
        .checked_mul(size_of::<T>())
        .filter(|&bytes| isize::try_from(bytes).is_ok())
        .ok_or_else(|| DeviceError::BadSize {
            attempted: "allocate memory",
            problem: format!("{length} elements of {} bytes are too many", size_of::<T>()),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_overflow_are_errors() {
        assert_eq!(bytes_of::<f32>(10).unwrap(), 40);
        assert!(bytes_of::<f64>(usize::MAX / 4).is_err());
        assert!(bytes_of::<u8>(usize::MAX).is_err());
    }
}
