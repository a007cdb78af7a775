//! Places inside a slab of memory: which are lent, which are free.
//!
//! Invariants: lent places never overlap and begin at multiples of [`ALIGNMENT`]; free neighbours are one.

use std::collections::BTreeMap;

/// What every device's arrays and atomics are content with.
pub(super) const ALIGNMENT: u64 = 256;

/// The places of one slab.
#[derive(Debug)]
pub(super) struct Places {
    bytes: u64,
    /// Length of each free place, by its beginning.
    free: BTreeMap<u64, u64>,
}

/// What a place of so many bytes takes.
pub(super) fn rounded(bytes: u64) -> u64 {
    bytes.max(1).next_multiple_of(ALIGNMENT)
}

impl Places {
    /// One free place of `bytes`, a multiple of [`ALIGNMENT`].
    pub(super) fn new(bytes: u64) -> Self {
        Self {
            bytes,
            free: BTreeMap::from([(0, bytes)]),
        }
    }

    /// Lends the first place that holds so many bytes: where it begins.
    pub(super) fn take(&mut self, bytes: u64) -> Option<u64> {
        let bytes = rounded(bytes);
        let (&at, &length) = self.free.iter().find(|(_, length)| **length >= bytes)?;
        self.free.remove(&at);
        if length > bytes {
            self.free.insert(at + bytes, length - bytes);
        }
        Some(at)
    }

    /// Takes back a place that was lent with these bytes.
    pub(super) fn give_back(&mut self, at: u64, bytes: u64) {
        let (mut at, mut bytes) = (at, rounded(bytes));
        if let Some(behind) = self.free.remove(&(at + bytes)) {
            bytes += behind;
        }
        let before = self.free.range(..at).next_back();
        if let Some((&begin, &length)) = before
            && begin + length == at
        {
            at = begin;
            bytes += length;
        }
        self.free.insert(at, bytes);
    }

    /// Whether nothing is lent.
    pub(super) fn all_free(&self) -> bool {
        self.free.get(&0) == Some(&self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random, the same in every run.
    fn next(state: &mut u64) -> u64 {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        *state >> 33
    }

    #[test]
    fn lent_places_never_overlap_and_all_come_back() {
        for seed in 0..50 {
            let mut state = seed;
            let size = ALIGNMENT * (1 + next(&mut state) % 4096);
            let mut places = Places::new(size);
            let mut lent: Vec<(u64, u64)> = Vec::new();
            let mut refused = 0;
            for _ in 0..3000 {
                let takes = next(&mut state) % 5 < 3 || lent.is_empty();
                if takes {
                    let bytes = next(&mut state) % (size / 16 + 2);
                    let Some(at) = places.take(bytes) else {
                        refused += 1;
                        continue;
                    };
                    let end = at + rounded(bytes);
                    assert!(at % ALIGNMENT == 0 && end <= size);
                    let apart =
                        |&(from, bytes): &(u64, u64)| end <= from || from + rounded(bytes) <= at;
                    assert!(lent.iter().all(apart), "{at} to {end} in {lent:?}");
                    lent.push((at, bytes));
                } else {
                    let which = next(&mut state) as usize % lent.len();
                    let (at, bytes) = lent.swap_remove(which);
                    places.give_back(at, bytes);
                }
                let free: u64 = places.free.values().sum();
                let out: u64 = lent.iter().map(|(_, bytes)| rounded(*bytes)).sum();
                assert_eq!(free + out, size);
                let mut ends = places.free.iter().map(|(at, bytes)| at + bytes);
                assert!(
                    ends.all(|end| !places.free.contains_key(&end)),
                    "neighbours"
                );
            }
            assert!(refused > 0, "the slab was never full");
            while let Some((at, bytes)) = lent.pop() {
                assert!(!places.all_free());
                places.give_back(at, bytes);
            }
            assert!(places.all_free());
            assert_eq!(places.take(size), Some(0));
        }
    }

    #[test]
    fn what_does_not_fit_is_not_lent() {
        let mut places = Places::new(1024);
        assert_eq!(places.take(1025), None);
        assert_eq!(places.take(0), Some(0));
        assert_eq!(places.take(769), None);
        assert_eq!(places.take(768), Some(256));
        assert_eq!(places.take(0), None);
    }
}
