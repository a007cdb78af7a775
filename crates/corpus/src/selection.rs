//! Which draft of each index is taken: the first whose shape no earlier index has.
//!
//! Decided in the order of the indices, so that it does not depend on threads, shards or restarts:
//! drafts are written and hashed anywhere ([`write_draft`]), then looked up one after the other.

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

/// Writes and hashes a draft of pair `index`.
pub fn write_draft(wanted: &Wanted, seed: u64, index: u64, attempt: u32) -> Selected {
    let draft = draft(wanted, seed, index, attempt);
    Selected {
        fingerprint: Fingerprint::of(&draft.source),
        draft,
        origin: Origin {
            seed,
            index,
            attempt,
        },
    }
}

/// Takes drafts for indices.
#[derive(Debug)]
pub struct Selection {
    wanted: Wanted,
    seed: u64,
    shapes: Option<ShapeSet>,
    /// Drafts that were looked at.
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

    /// Whether shapes are remembered at all.
    pub fn deduplicates(&self) -> bool {
        self.shapes.is_some()
    }

    /// What is taken of first drafts, which must come in the order of their indices.
    pub fn take(&mut self, first: Vec<Selected>) -> Vec<Selected> {
        let mut taken = Vec::with_capacity(first.len());
        for draft in first {
            self.drafts += 1;
            let index = draft.origin.index;
            match self.is_new(draft.fingerprint.shape) {
                true => taken.push(draft),
                false => taken.extend(self.draw_again(index)),
            }
        }
        taken
    }

    /// Remembers the shapes of first drafts that others write, or that were written before: those of the
    /// indices from `start`.
    pub fn remember(&mut self, start: u64, shapes: &[u64]) {
        for (index, shape) in (start..).zip(shapes) {
            if !self.is_new(*shape) {
                self.draw_again(index);
            }
        }
        (self.drafts, self.exhausted) = (0, 0);
    }

    /// Remembers shapes that no pair may have.
    #[cfg(test)]
    pub(crate) fn take_shapes(&mut self, shapes: impl Iterator<Item = u64>) {
        shapes.for_each(|shape| {
            self.is_new(shape);
        });
    }

    /// The first later draft of an index whose shape is new.
    fn draw_again(&mut self, index: u64) -> Option<Selected> {
        for attempt in 1..MOST_ATTEMPTS {
            self.drafts += 1;
            let draft = write_draft(&self.wanted, self.seed, index, attempt);
            if self.is_new(draft.fingerprint.shape) {
                return Some(draft);
            }
        }
        self.exhausted += 1;
        None
    }

    fn is_new(&mut self, shape: u64) -> bool {
        self.shapes
            .as_mut()
            .is_none_or(|shapes| shapes.insert(shape))
    }

    /// Bytes of the table of shapes.
    pub fn bytes(&self) -> usize {
        self.shapes.as_ref().map_or(0, ShapeSet::bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drafts(wanted: &Wanted, seed: u64, range: std::ops::Range<u64>) -> Vec<Selected> {
        range.map(|n| write_draft(wanted, seed, n, 0)).collect()
    }

    #[test]
    fn ranges_make_the_same_choice_as_the_whole() {
        let wanted = Wanted {
            difficulties: vec![1],
            ..Wanted::default()
        };
        let sources = |taken: Vec<Selected>| -> Vec<String> {
            taken.into_iter().map(|s| s.draft.source).collect()
        };
        let mut whole = Selection::new(wanted.clone(), 9, true, 4000);
        let all = sources(whole.take(drafts(&wanted, 9, 0..4000)));
        let mut resumed = Selection::new(wanted.clone(), 9, true, 4000);
        let before: Vec<u64> = drafts(&wanted, 9, 0..2500)
            .iter()
            .map(|s| s.fingerprint.shape)
            .collect();
        resumed.remember(0, &before);
        let rest = sources(resumed.take(drafts(&wanted, 9, 2500..4000)));
        assert_eq!(all[2500..], rest);
        assert!(
            whole.drafts > 4000,
            "no duplicate was drawn, so nothing was tested"
        );
    }

    #[test]
    fn no_shape_is_taken_twice() {
        let mut selection = Selection::new(Wanted::default(), 2, true, 5000);
        let taken = selection.take(drafts(&Wanted::default(), 2, 0..5000));
        let mut shapes: Vec<u64> = taken.iter().map(|s| s.fingerprint.shape).collect();
        shapes.sort_unstable();
        shapes.dedup();
        assert_eq!(shapes.len(), taken.len());
    }
}
