//! The part of a signal that an analysis still needs while the signal goes by.

use std::ops::Range;

/// Samples that are there, by their numbers in the signal.
#[derive(Clone, Debug, Default)]
pub struct Kept<T> {
    /// Samples that are gone, and from `gone` on those that are kept.
    samples: Vec<T>,
    gone: usize,
    /// The number of the first sample in memory.
    at: usize,
}

impl<T: Copy> Kept<T> {
    /// Adds the next samples.
    pub fn push(&mut self, piece: &[T]) {
        self.samples.extend_from_slice(piece);
    }

    /// Adds the next sample.
    pub fn push_one(&mut self, sample: T) {
        self.samples.push(sample);
    }

    /// One past the last sample that is there.
    pub fn end(&self) -> usize {
        self.at + self.samples.len()
    }

    /// Lets go of all samples before one.
    pub fn forget(&mut self, before: usize) {
        let gone = before.min(self.end()).saturating_sub(self.at);
        self.gone = gone.max(self.gone);
        // Only where that moves no more than it frees.
        if 2 * self.gone >= self.samples.len() {
            self.samples.drain(..self.gone);
            self.at += self.gone;
            self.gone = 0;
        }
    }

    /// Sample `n`, where it is there.
    #[inline]
    pub fn get(&self, n: usize) -> Option<T> {
        self.samples.get(n.checked_sub(self.at)?).copied()
    }

    /// The samples of a range that are there.
    pub fn slice(&self, range: Range<usize>) -> &[T] {
        let place = |n: usize| n.clamp(self.at, self.end()) - self.at;
        let (from, to) = (place(range.start), place(range.end));
        &self.samples[from..to.max(from)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_keep_their_numbers() {
        let mut kept = Kept::default();
        for first in (0..1000).step_by(10) {
            let piece: Vec<usize> = (first..first + 10).collect();
            kept.push(&piece);
            kept.forget(first.saturating_sub(25));
            assert_eq!(kept.end(), first + 10);
            assert_eq!(kept.get(first), Some(first));
            assert_eq!(kept.slice(first + 3..first + 5), [first + 3, first + 4]);
            assert!(kept.samples.len() <= 80);
        }
        assert_eq!(kept.get(1000), None);
        assert_eq!(kept.get(0), None);
        assert_eq!(kept.slice(998..2000), [998, 999]);
        assert!(kept.slice(2000..3000).is_empty() && kept.slice(0..10).is_empty());
        kept.forget(5000);
        assert_eq!(kept.end(), 1000);
        assert!(kept.slice(0..2000).is_empty());
    }
}
