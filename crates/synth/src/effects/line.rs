//! A delay line that is read and written by whole quanta, each in one piece.
//!
//! Invariants: writing happens at multiples of a quantum; what stands in the first quantum stands
//! again behind the last, so that a read over the end needs no second piece; a read reaches back at
//! least a quantum, so that what is written beside it is not what it reads.

use crate::sound::{Lane, QUANTUM};

/// The line.
#[derive(Debug)]
pub(crate) struct Line {
    samples: Vec<f32>,
    write: usize,
}

impl Clone for Line {
    fn clone(&self) -> Self {
        Self {
            samples: self.samples.clone(),
            write: self.write,
        }
    }

    /// Into the memory that is there.
    fn clone_from(&mut self, source: &Self) {
        self.samples.clone_from(&source.samples);
        self.write = source.write;
    }
}

impl Line {
    /// A silent line from which samples up to `longest` ago can be read.
    pub(crate) fn new(longest: usize) -> Self {
        let capacity = longest.max(QUANTUM).next_multiple_of(QUANTUM);
        Self {
            samples: vec![0.0; capacity + QUANTUM],
            write: 0,
        }
    }

    /// The quantum of `ago` samples ago, [`QUANTUM`] to `longest`.
    #[inline(always)]
    pub(crate) fn quantum(&self, ago: usize) -> &Lane {
        let capacity = self.samples.len() - QUANTUM;
        let mut place = self.write + capacity - ago;
        if place >= capacity {
            place -= capacity;
        }
        // Whoever asks for what is not there gets silence; there is no way to ask for it.
        self.samples[place..]
            .first_chunk()
            .unwrap_or(&[0.0; QUANTUM])
    }

    /// Writes the next quantum.
    #[inline(always)]
    pub(crate) fn write(&mut self, lane: &Lane) {
        self.samples[self.write..self.write + QUANTUM].copy_from_slice(lane);
        let capacity = self.samples.len() - QUANTUM;
        if self.write == 0 {
            self.samples[capacity..].copy_from_slice(lane);
        }
        self.write += QUANTUM;
        if self.write == capacity {
            self.write = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_comes_back_after_any_delay_that_fits() {
        for longest in [64, 100, 129, 1_000] {
            let mut line = Line::new(longest);
            for first in (0..5_000).step_by(QUANTUM) {
                for ago in [QUANTUM, longest / 2 + 40, longest] {
                    let ago = ago.clamp(QUANTUM, longest);
                    let lane = line.quantum(ago);
                    for (j, value) in lane.iter().enumerate() {
                        let position = (first + j).checked_sub(ago);
                        let expected = position.map_or(0.0, |position| position as f32 + 1.0);
                        assert_eq!(*value, expected, "{longest}, {ago} before {first}");
                    }
                }
                line.write(&std::array::from_fn(|j| (first + j) as f32 + 1.0));
            }
        }
    }
}
