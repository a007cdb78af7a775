//! The spectra of a block of frames with a row for each frame: where a bin's frames follow from each other,
//! its neighbours do not, and go side by side in the lanes.
//!
//! Invariant: lanes after the last bin are finite, and nobody reads what comes of them.

use warpsmith_lanes::{Lanes, Task};

use super::tile::transpose_into;

/// Bins that change places together.
const EIGHT: usize = 8;

/// The rows of `V::WIDTH` frames.
pub struct FrameRows<V> {
    bins: usize,
    /// Vectors of a row's part.
    vectors: usize,
    /// `[frame, part, bin]`.
    values: Vec<V>,
}

impl<V: Lanes> FrameRows<V> {
    /// Zeros for frames of `bins` bins.
    pub fn new(bins: usize) -> Self {
        let vectors = bins.div_ceil(V::WIDTH);
        Self {
            bins,
            vectors,
            values: vec![V::splat(0.0); V::WIDTH * 2 * vectors],
        }
    }

    /// Vectors that hold one part of a frame.
    pub fn vectors(&self) -> usize {
        self.vectors
    }

    /// Real and imaginary parts of a frame.
    #[inline(always)]
    pub fn frame(&self, frame: usize) -> [&[V]; 2] {
        let row = &self.values[frame * 2 * self.vectors..][..2 * self.vectors];
        let (re, im) = row.split_at(self.vectors);
        [re, im]
    }

    /// As [`FrameRows::frame`], to be written.
    #[inline(always)]
    pub fn frame_mut(&mut self, frame: usize) -> [&mut [V]; 2] {
        let row = &mut self.values[frame * 2 * self.vectors..][..2 * self.vectors];
        let (re, im) = row.split_at_mut(self.vectors);
        [re, im]
    }

    /// Takes bins with the frames in their lanes.
    pub fn take(&mut self, bins: &[[V; 2]]) {
        V::vectorize(TakeTask { rows: self, bins });
    }

    /// Gives the bins of the first `frames` frames back, zeros in the other lanes.
    pub fn give(&mut self, frames: usize, bins: &mut [[V; 2]]) {
        self.values[frames * 2 * self.vectors..].fill(V::splat(0.0));
        V::vectorize(GiveTask { rows: self, bins });
    }
}

struct TakeTask<'a, V> {
    rows: &'a mut FrameRows<V>,
    bins: &'a [[V; 2]],
}

impl<V: Lanes> Task for TakeTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        let pitch = self.rows.vectors * V::WIDTH;
        let whole = self.rows.bins / EIGHT * EIGHT;
        let from = V::floats(self.bins.as_flattened());
        let to = V::floats_mut(&mut self.rows.values);
        for part in 0..2 {
            let (from, to) = (&from[part * V::WIDTH..], &mut to[part * pitch..]);
            let shape = (V::WIDTH, whole);
            transpose_into::<V::Points>(from, 2 * V::WIDTH, shape, to, 2 * pitch);
            for bin in whole..self.rows.bins {
                for frame in 0..V::WIDTH {
                    to[frame * 2 * pitch + bin] = from[bin * 2 * V::WIDTH + frame];
                }
            }
        }
    }
}

struct GiveTask<'a, V> {
    rows: &'a FrameRows<V>,
    bins: &'a mut [[V; 2]],
}

impl<V: Lanes> Task for GiveTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        let pitch = self.rows.vectors * V::WIDTH;
        let whole = self.rows.bins / EIGHT * EIGHT;
        let from = V::floats(&self.rows.values);
        let to = V::floats_mut(self.bins.as_flattened_mut());
        for part in 0..2 {
            let (from, to) = (&from[part * pitch..], &mut to[part * V::WIDTH..]);
            let shape = (whole, V::WIDTH);
            transpose_into::<V::Points>(from, 2 * pitch, shape, to, 2 * V::WIDTH);
            for bin in whole..self.rows.bins {
                for frame in 0..V::WIDTH {
                    to[bin * 2 * V::WIDTH + frame] = from[frame * 2 * pitch + bin];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith_lanes::{Eight, Vector};

    #[test]
    fn rows_hold_the_frames_and_give_them_back() {
        for bins in [1, 7, 8, 9, 33] {
            let value =
                |bin: usize, part: usize, frame: usize| (100 * bin + 10 * frame + part) as f32;
            let mut lanes = vec![[Eight::splat(0.0); 2]; bins];
            for (n, slot) in Eight::floats_mut(lanes.as_flattened_mut())
                .iter_mut()
                .enumerate()
            {
                *slot = value(n / 16, n / 8 % 2, n % 8);
            }
            let mut rows = FrameRows::new(bins);
            rows.take(&lanes);
            for frame in 0..8 {
                for (part, row) in rows.frame(frame).into_iter().enumerate() {
                    for (bin, found) in Eight::floats(row)[..bins].iter().enumerate() {
                        assert_eq!(*found, value(bin, part, frame));
                    }
                }
            }
            let mut back = vec![[Eight::splat(f32::NAN); 2]; bins];
            rows.give(5, &mut back);
            for (n, found) in Eight::floats(back.as_flattened()).iter().enumerate() {
                let expected = if n % 8 < 5 {
                    value(n / 16, n / 8 % 2, n % 8)
                } else {
                    0.0
                };
                assert_eq!(*found, expected);
            }
        }
    }
}
