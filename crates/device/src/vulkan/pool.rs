//! Memory that buffers share: drivers allow a few thousand allocations, and each takes microseconds.
//!
//! Invariants: a slab lives as long as something is lent of it; one empty slab at most is kept.

use super::allocation::{Allocation, Use};
use super::device::Shared;
use super::places::{Places, rounded};
use crate::error::DeviceError;

/// Slabs, the first and smallest one first: whoever needs little takes little.
const SLABS: [u64; 4] = [1 << 20, 4 << 20, 16 << 20, 64 << 20];
/// Larger buffers have memory of their own: a slab holds four of the largest.
const LARGEST_LENT: u64 = 16 << 20;
/// Bytes of the buffer through which copies go where the host does not see device memory.
pub(super) const STAGING: u64 = 64 << 20;

/// A device's slabs and its staging buffer.
#[derive(Debug, Default)]
pub(super) struct Pool {
    slabs: Vec<Slab>,
    /// Grows with what goes through it, up to [`STAGING`].
    staging: Option<Allocation>,
    made: u64,
}

#[derive(Debug)]
struct Slab {
    id: u64,
    memory: Allocation,
    places: Places,
}

/// A part of a slab.
#[derive(Debug)]
pub(super) struct Place {
    slab: u64,
    pub(super) at: u64,
    pub(super) bytes: u64,
}

impl Pool {
    /// Lends a place of a slab and says in which memory it lies; nothing where the buffer is too large to
    /// share.
    pub(super) fn lend<'p>(
        &'p mut self,
        shared: &Shared,
        bytes: u64,
    ) -> Result<Option<(Place, &'p Allocation)>, DeviceError> {
        let bytes = rounded(bytes);
        if bytes > LARGEST_LENT {
            return Ok(None);
        }
        let free = |slab: &mut Slab| Some((slab.id, slab.places.take(bytes)?));
        let (id, at) = match self.slabs.iter_mut().find_map(free) {
            Some(found) => found,
            None => {
                let slab = self.slab(shared, bytes)?;
                // A new slab is as large as the place at least.
                let Some(found) = free(slab) else {
                    return Ok(None);
                };
                found
            }
        };
        let slab = self.slabs.iter().find(|slab| slab.id == id);
        let place = Place {
            slab: id,
            at,
            bytes,
        };
        Ok(slab.map(|slab| (place, &slab.memory)))
    }

    /// A new slab: the next of the sizes, and where memory is short as small as will do.
    fn slab(&mut self, shared: &Shared, bytes: u64) -> Result<&mut Slab, DeviceError> {
        let next = SLABS[self.slabs.len().min(SLABS.len() - 1)];
        let wanted = next.max(bytes);
        let memory = match Allocation::new(shared, wanted, Use::Device) {
            Err(DeviceError::OutOfMemory { .. }) if wanted > bytes => {
                Allocation::new(shared, bytes, Use::Device).map(|memory| (memory, bytes))
            }
            made => made.map(|memory| (memory, wanted)),
        };
        let (memory, bytes) = memory?;
        self.made += 1;
        self.slabs.push(Slab {
            id: self.made,
            memory,
            places: Places::new(bytes),
        });
        let last = self.slabs.len() - 1;
        Ok(&mut self.slabs[last])
    }

    /// Takes a place back; a slab that is empty then goes, unless it is the only empty one.
    pub(super) fn take_back(&mut self, shared: &Shared, place: &Place) {
        let Some(slab) = self.slabs.iter_mut().find(|slab| slab.id == place.slab) else {
            return;
        };
        slab.places.give_back(place.at, place.bytes);
        let empty = |slab: &Slab| slab.places.all_free();
        if self.slabs.iter().filter(|slab| empty(slab)).count() < 2 {
            return;
        }
        // The smaller one stays.
        let largest = (0..self.slabs.len())
            .filter(|n| empty(&self.slabs[*n]))
            .max_by_key(|n| self.slabs[*n].memory.bytes);
        if let Some(largest) = largest {
            self.slabs.remove(largest).memory.free(shared);
        }
    }

    /// The staging buffer, at least as large as `bytes` or [`STAGING`].
    pub(super) fn staging(
        &mut self,
        shared: &Shared,
        bytes: u64,
    ) -> Result<&Allocation, DeviceError> {
        let wanted = bytes.clamp(1 << 16, STAGING).next_power_of_two();
        let staging = match self.staging.take() {
            Some(staging) if staging.bytes >= wanted => staging,
            other => {
                if let Some(small) = other {
                    small.free(shared);
                }
                Allocation::new(shared, wanted, Use::Staging)?
            }
        };
        Ok(self.staging.insert(staging))
    }

    /// How many allocations of the driver it holds.
    pub(super) fn allocations(&self) -> usize {
        self.slabs.len() + usize::from(self.staging.is_some())
    }

    /// Returns everything.
    pub(super) fn free(&mut self, shared: &Shared) {
        for slab in self.slabs.drain(..) {
            slab.memory.free(shared);
        }
        if let Some(staging) = self.staging.take() {
            staging.free(shared);
        }
    }
}
