//! Which draft of each index is taken: the first whose shape no earlier index has.
//!
//! Decided in the order of the indices, so that it does not depend on threads, shards or restarts:
//! drafts are written and hashed on all cores, then looked up one after the other.

use std::ops::Range;

use rayon::prelude::*;

use crate::fingerprint::Fingerprint;
use crate::generate::{Draft, Wanted, draft};
use crate::record::Origin;
use crate::shape_set::ShapeSet;

/// Drafts that are tried for one index before it is given up.
pub const MOST_ATTEMPTS: u32 = 48;

/// The draft that an index takes.
#[derive(Clone, Debug)]
pub struct Selected {
    /// Where it comes from.
    pub origin: Origin,
    /// The program.
    pub draft: Draft,
    /// Its hashes.
    pub fingerprint: Fingerprint,
}

/// Takes drafts for a range of indices.
#[derive(Debug)]
pub struct Selection {
    wanted: Wanted,
    seed: u64,
    shapes: Option<ShapeSet>,
    /// Drafts that were written.
    pub drafts: u64,
    /// Indices for which every draft was a duplicate.
    pub exhausted: u64,
}

impl Selection {
    /// A selection that has seen nothing; `expected` shapes will be seen.
    pub fn new(wanted: Wanted, seed: u64, deduplicate: bool, expected: u64) -> Self {
        let expected = usize::try_from(expected).unwrap_or(usize::MAX >> 8);
        Self {
            wanted,
            seed,
            shapes: deduplicate.then(|| ShapeSet::with_room_for(expected)),
            drafts: 0,
            exhausted: 0,
        }
    }

    fn write(&self, index: u64, attempt: u32) -> Selected {
        let draft = draft(&self.wanted, self.seed, index, attempt);
        let fingerprint = Fingerprint::of(&draft.source);
        let origin = Origin {
            seed: self.seed,
            index,
            attempt,
        };
        Selected {
            origin,
            draft,
            fingerprint,
        }
    }

    /// The drafts of a range; ranges must be taken in order.
    pub fn take(&mut self, range: Range<u64>) -> Vec<Selected> {
        let count = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(0);
        let first: Vec<Selected> = (0..count)
            .into_par_iter()
            .with_min_len(64)
            .map(|offset| self.write(range.start + offset as u64, 0))
            .collect();
        let mut taken = Vec::with_capacity(first.len());
        for selected in first {
            self.drafts += 1;
            let Some(mut shapes) = self.shapes.take() else {
                taken.push(selected);
                continue;
            };
            let index = selected.origin.index;
            let mut candidate = Some(selected);
            let mut attempt = 0;
            while let Some(tried) = candidate.take() {
                if shapes.insert(tried.fingerprint.shape) {
                    taken.push(tried);
                    break;
                }
                attempt += 1;
                if attempt == MOST_ATTEMPTS {
                    self.exhausted += 1;
                    break;
                }
                self.drafts += 1;
                candidate = Some(self.write(index, attempt));
            }
            self.shapes = Some(shapes);
        }
        taken
    }

    /// Remembers the shapes of a range that others write, or that was written before.
    pub fn skip(&mut self, range: Range<u64>) {
        if self.shapes.is_none() {
            return;
        }
        // In pieces, so that memory stays bounded.
        let mut start = range.start;
        while start < range.end {
            let end = (start + 50_000).min(range.end);
            self.take(start..end);
            start = end;
        }
        self.drafts = 0;
        self.exhausted = 0;
    }

    /// Bytes of the table of shapes.
    pub fn bytes(&self) -> usize {
        self.shapes.as_ref().map_or(0, ShapeSet::bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_make_the_same_choice_as_the_whole() {
        let wanted = Wanted {
            difficulties: vec![1],
            ..Wanted::default()
        };
        let mut whole = Selection::new(wanted.clone(), 9, true, 4000);
        let all: Vec<String> = whole
            .take(0..4000)
            .into_iter()
            .map(|s| s.draft.source)
            .collect();
        let mut resumed = Selection::new(wanted, 9, true, 4000);
        resumed.skip(0..2500);
        let rest: Vec<String> = resumed
            .take(2500..4000)
            .into_iter()
            .map(|s| s.draft.source)
            .collect();
        assert_eq!(all[2500..], rest);
        assert!(
            whole.drafts > 4000,
            "no duplicate was drawn, so nothing was tested"
        );
    }

    #[test]
    fn no_shape_is_taken_twice() {
        let mut selection = Selection::new(Wanted::default(), 2, true, 5000);
        let taken = selection.take(0..5000);
        let mut shapes: Vec<u64> = taken.iter().map(|s| s.fingerprint.shape).collect();
        shapes.sort_unstable();
        shapes.dedup();
        assert_eq!(shapes.len(), taken.len());
    }
}
