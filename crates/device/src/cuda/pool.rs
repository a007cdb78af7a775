//! Pre-allocated device memory: taking a buffer that was used before costs no driver call.
//!
//! Invariants: sizes are rounded up to classes (powers of two and their halves between), so a
//! shelf serves all requests of its class; a buffer that comes back is given out again only for
//! work on the pool's own stream, behind whatever that stream still has queued for it.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::argument::DeviceElement;
use super::buffer::{DeviceBuffer, Home, Memory, bytes_of, give_to_driver, take_from_driver};
use super::context::Context;
use super::raw::DevicePointer;
use super::stream::Stream;
use crate::error::DeviceError;
use crate::ledger::Ledger;

/// A pool of device buffers for one stream. Clones are the same pool.
#[derive(Clone)]
pub struct BufferPool {
    shelf: Arc<PoolShelf>,
    stream: Stream,
}

/// Memory that has come back and waits to be used again.
pub(super) struct PoolShelf {
    context: Arc<Context>,
    ledger: Arc<Ledger>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Returned allocations by size class.
    free: BTreeMap<usize, Vec<DevicePointer>>,
    reserved: u64,
    driver_allocations: u64,
}

/// What a pool holds and has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolStats {
    /// Bytes in buffers that are out.
    pub in_use: u64,
    /// Most bytes that were out at once.
    pub high_water: u64,
    /// Bytes taken from the driver and not given back to it.
    pub reserved: u64,
    /// Buffers handed out.
    pub taken: u64,
    /// How many of those needed a call to the driver.
    pub driver_allocations: u64,
}

impl fmt::Debug for BufferPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BufferPool({:?})", self.stats())
    }
}

impl BufferPool {
    pub(super) fn new(context: &Arc<Context>, stream: Stream) -> Self {
        let shelf = PoolShelf {
            context: Arc::clone(context),
            ledger: Arc::new(Ledger::for_this_build()),
            state: Mutex::default(),
        };
        Self {
            shelf: Arc::new(shelf),
            stream,
        }
    }

    /// The stream that buffers of this pool are for.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// A buffer with whatever contents; from the shelf where one of its class lies there.
    #[track_caller]
    pub fn take<T: DeviceElement>(&self, length: usize) -> Result<DeviceBuffer<T>, DeviceError> {
        let site = Location::caller();
        let class = size_class(bytes_of::<T>(length)?);
        let pointer = match self.shelf.take_from_shelf(class) {
            Some(pointer) => pointer,
            None => self.shelf.grow(class)?,
        };
        self.shelf.ledger.add(class as u64, site);
        let memory = Memory {
            pointer,
            bytes: class,
            context: Arc::clone(&self.shelf.context),
            site,
            home: Home::Pool(Arc::clone(&self.shelf)),
        };
        Ok(DeviceBuffer::from_memory(memory, length))
    }

    /// Makes `count` buffers of `length` ready, so that taking them makes no driver call.
    pub fn reserve<T: DeviceElement>(
        &self,
        length: usize,
        count: usize,
    ) -> Result<(), DeviceError> {
        let class = size_class(bytes_of::<T>(length)?);
        let ready = self.shelf.state().free.get(&class).map_or(0, Vec::len);
        for _ in ready..count {
            let pointer = self.shelf.grow(class)?;
            self.shelf
                .state()
                .free
                .entry(class)
                .or_default()
                .push(pointer);
        }
        Ok(())
    }

    /// Gives everything on the shelf back to the driver.
    pub fn trim(&self) {
        self.shelf.trim();
    }

    /// What the pool holds and has done.
    pub fn stats(&self) -> PoolStats {
        let ledger = self.shelf.ledger.stats();
        let state = self.shelf.state();
        PoolStats {
            in_use: ledger.live,
            high_water: ledger.peak,
            reserved: state.reserved,
            taken: ledger.allocations,
            driver_allocations: state.driver_allocations,
        }
    }

    /// Who holds buffers of this pool.
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.shelf.ledger
    }
}

impl PoolShelf {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_from_shelf(&self, class: usize) -> Option<DevicePointer> {
        self.state().free.get_mut(&class)?.pop()
    }

    pub(super) fn put_back(
        &self,
        pointer: DevicePointer,
        class: usize,
        site: &'static Location<'static>,
    ) {
        self.ledger.remove(class as u64, site);
        self.state().free.entry(class).or_default().push(pointer);
    }

    fn grow(&self, class: usize) -> Result<DevicePointer, DeviceError> {
        let pointer = match take_from_driver(&self.context, class, shelf_site()) {
            // What lies on the shelf in other classes may be all that is missing.
            Err(DeviceError::OutOfMemory { .. }) => {
                self.trim();
                take_from_driver(&self.context, class, shelf_site())?
            }
            other => other?,
        };
        let mut state = self.state();
        state.reserved += class as u64;
        state.driver_allocations += 1;
        Ok(pointer)
    }

    fn trim(&self) {
        let mut state = self.state();
        for (class, pointers) in std::mem::take(&mut state.free) {
            for pointer in pointers {
                state.reserved -= class as u64;
                // SAFETY: memory on the shelf has no owner but the shelf, which forgets it here.
                unsafe { give_to_driver(&self.context, pointer, class, shelf_site()) };
            }
        }
    }
}

/// The device's ledger shows pooled memory under this one place; the pool's own ledger shows who
/// holds it.
fn shelf_site() -> &'static Location<'static> {
    Location::caller()
}

impl Drop for PoolShelf {
    fn drop(&mut self) {
        self.trim();
    }
}

/// The next size of the form 2ᵏ or 3·2ᵏ⁻¹, at least 256: at most a third is wasted.
fn size_class(bytes: usize) -> usize {
    let power = bytes.max(256).next_power_of_two();
    let between = power / 4 * 3;
    if bytes <= between && between >= 256 {
        between
    } else {
        power
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_class_holds_the_request_and_wastes_at_most_a_third() {
        for bytes in (0..100_000).chain([1 << 30, (1 << 30) + 1]) {
            let class = size_class(bytes);
            assert!(class >= bytes && class >= 256, "{bytes} -> {class}");
            assert!(bytes < 256 || class * 2 <= bytes * 3, "{bytes} -> {class}");
            assert_eq!(size_class(class), class);
        }
    }
}
