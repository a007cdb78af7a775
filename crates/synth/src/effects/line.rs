//! A short delay line that is read and written by `N` samples, each time in one piece.
//!
//! Invariants: writing happens at multiples of `N`; what stands in the first `N` stands again behind
//! the last, so that a read over the end needs no second piece; a read reaches back at least `N`, so
//! that what is written beside it is not what it reads.

/// The line.
#[derive(Debug)]
pub(crate) struct Line<const N: usize> {
    samples: Vec<f32>,
    write: usize,
}

impl<const N: usize> Clone for Line<N> {
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

impl<const N: usize> Line<N> {
    /// A silent line from which samples up to `longest` ago can be read.
    pub(crate) fn new(longest: usize) -> Self {
        let capacity = longest.max(N).next_multiple_of(N);
        Self {
            samples: vec![0.0; capacity + N],
            write: 0,
        }
    }

    /// The `N` samples of `ago` samples ago, `N` to `longest`.
    #[inline(always)]
    pub(crate) fn read(&self, ago: usize) -> &[f32; N] {
        let capacity = self.samples.len() - N;
        let mut place = self.write + capacity - ago;
        if place >= capacity {
            place -= capacity;
        }
        // Whoever asks for what is not there gets silence; there is no way to ask for it.
        self.samples[place..].first_chunk().unwrap_or(&[0.0; N])
    }

    /// Writes the next `N` samples.
    #[inline(always)]
    pub(crate) fn write(&mut self, samples: &[f32; N]) {
        self.samples[self.write..self.write + N].copy_from_slice(samples);
        let capacity = self.samples.len() - N;
        if self.write == 0 {
            self.samples[capacity..].copy_from_slice(samples);
        }
        self.write += N;
        if self.write == capacity {
            self.write = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sound::QUANTUM;

    #[test]
    fn every_sample_comes_back_after_any_delay_that_fits() {
        for longest in [64, 100, 129, 1_000] {
            let mut line = Line::<QUANTUM>::new(longest);
            for first in (0..5_000).step_by(QUANTUM) {
                for ago in [QUANTUM, longest / 2 + 40, longest] {
                    let ago = ago.clamp(QUANTUM, longest);
                    let lane = line.read(ago);
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
