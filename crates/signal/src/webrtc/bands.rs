//! Levels of six bands of an 8 kHz frame: a tree of half-band splits, then logarithms of energies.

use super::tables::{BANDS, HIGH_PASS, SPLIT, TABLES};

/// A frame whose energy is not above this is silence.
pub(super) const LEAST_ENERGY: i16 = 10;
/// Samples of the longest frame, 30 ms.
pub(super) const LONGEST: usize = 240;

/// Samples at 8 kHz that go through all splits together: the least of which one is left in the end.
pub(super) const PIECE: usize = 16;

/// Levels of the bands, `10·log10` of the energy in Q4, and a rough sum of the energies.
pub(super) struct Levels {
    pub(super) bands: [i16; BANDS],
    /// Exact up to [`LEAST_ENERGY`]; above, only that it is above.
    pub(super) energy: i16,
}

/// The filters' states between frames.
#[derive(Clone, Debug, Default)]
pub(super) struct BandSplitter {
    splits: [Split; 5],
    high_pass: [i16; 4],
}

/// Halves of a band: all-pass branches over even and odd samples, their difference and sum.
#[derive(Clone, Copy, Debug, Default)]
struct Split {
    branches: [i16; 2],
}

/// The states of a split's branches within a frame.
#[derive(Clone, Copy)]
struct Branches([i32; 2]);

impl Split {
    #[inline(always)]
    fn open(&self) -> Branches {
        Branches(self.branches.map(|state| i32::from(state) << 16))
    }

    /// Between frames a branch keeps 16 bits of its state only: frames of 10 and 20 ms differ.
    #[inline(always)]
    fn close(&mut self, Branches(states): Branches) {
        self.branches = states.map(|state| (state >> 16) as i16);
    }
}

impl Branches {
    /// Writes a sample of either half for every two.
    #[inline(always)]
    fn process(&mut self, samples: &[i16], high: &mut [i16], low: &mut [i16]) {
        let [even, odd] = &mut self.0;
        for ((pair, high), low) in samples.chunks_exact(2).zip(high).zip(low) {
            let a = all_pass(even, SPLIT[0], pair[0]);
            let b = all_pass(odd, SPLIT[1], pair[1]);
            *high = a.wrapping_sub(b);
            *low = a.wrapping_add(b);
        }
    }
}

#[inline(always)]
fn all_pass(state: &mut i32, coefficient: i32, sample: i16) -> i16 {
    let sample = i32::from(sample);
    let out = (state.wrapping_add(coefficient * sample) >> 16) as i16;
    *state = ((sample << 14) - coefficient * i32::from(out)) << 1;
    out
}

impl BandSplitter {
    /// The levels of a frame of five, ten or fifteen pieces, which `next` gives one after the other.
    ///
    /// Every filter waits for its own last sample. Piece by piece those of all halves wait side by side.
    #[inline(always)]
    pub(super) fn levels(
        &mut self,
        pieces: usize,
        mut next: impl FnMut(&mut [i16; PIECE]),
    ) -> Levels {
        const QUARTER: usize = LONGEST / 4;
        let (mut five, mut four, mut three) = ([0; QUARTER], [0; QUARTER], [0; QUARTER]);
        let (mut two, mut one, mut zero) = ([0; QUARTER / 2], [0; QUARTER / 4], [0; QUARTER / 4]);
        let mut narrow = [0i16; PIECE];
        let [mut upper, mut lower] = [[0i16; PIECE / 2]; 2];
        let [mut low, mut lowest] = [[0i16; PIECE / 4], [0i16; PIECE / 4]];
        let [mut first, mut top, mut bottom, mut third, mut last] =
            self.splits.each_ref().map(Split::open);
        for piece in 0..pieces {
            next(&mut narrow);
            first.process(&narrow, &mut upper, &mut lower);
            let quarter = piece * PIECE / 4..(piece + 1) * PIECE / 4;
            top.process(
                &upper,
                &mut five[quarter.clone()],
                &mut four[quarter.clone()],
            );
            bottom.process(&lower, &mut three[quarter], &mut low);
            let eighth = piece * PIECE / 8..(piece + 1) * PIECE / 8;
            third.process(&low, &mut two[eighth], &mut lowest);
            let sixteenth = piece * PIECE / 16..(piece + 1) * PIECE / 16;
            last.process(
                &lowest[..PIECE / 8],
                &mut one[sixteenth.clone()],
                &mut zero[sixteenth],
            );
        }
        let states = [first, top, bottom, third, last];
        for (split, states) in self.splits.iter_mut().zip(states) {
            split.close(states);
        }
        let mut levels = Levels {
            bands: [0; BANDS],
            energy: 0,
        };
        levels.take(5, &five[..pieces * PIECE / 4]);
        levels.take(4, &four[..pieces * PIECE / 4]);
        levels.take(3, &three[..pieces * PIECE / 4]);
        levels.take(2, &two[..pieces * PIECE / 8]);
        levels.take(1, &one[..pieces]);
        let zero = &mut zero[..pieces];
        self.remove_rumble(zero);
        levels.take(0, zero);
        levels
    }

    /// The high-pass at 80 Hz of the lowest band.
    fn remove_rumble(&mut self, samples: &mut [i16]) {
        let (zeros, poles) = HIGH_PASS;
        let [mut x1, mut x2, mut y1, mut y2] = self.high_pass;
        for slot in samples {
            let x = *slot;
            let sum = (zeros[0] * i32::from(x))
                .wrapping_add(zeros[1] * i32::from(x1))
                .wrapping_add(zeros[2] * i32::from(x2))
                .wrapping_sub(poles[0] * i32::from(y1))
                .wrapping_sub(poles[1] * i32::from(y2));
            let y = (sum >> 14) as i16;
            (x2, x1, y2, y1) = (x1, x, y1, y);
            *slot = y;
        }
        self.high_pass = [x1, x2, y1, y2];
    }
}

impl Levels {
    #[inline(always)]
    fn take(&mut self, band: usize, samples: &[i16]) {
        let offset = TABLES[band].level_offset;
        let (energy, scaling) = energy(samples);
        if energy == 0 {
            self.bands[band] = offset;
            return;
        }
        // Fifteen bits, of which the first is one: the others stand for the logarithm's fraction.
        let surplus = 17 - energy.leading_zeros() as i32;
        let shifts = scaling + surplus;
        let mantissa = if surplus < 0 {
            energy << -surplus
        } else {
            energy >> surplus
        };
        // 160·log10(2) in Q9.
        const DECIBELS: i32 = 24_660;
        let log2 = (14 << 10) + ((mantissa & 0x3fff) >> 4) as i32;
        let level = (((DECIBELS * log2) >> 19) + ((shifts * DECIBELS) >> 9)) as i16;
        self.bands[band] = level.max(0) + offset;
        if self.energy <= LEAST_ENERGY {
            self.energy += if shifts >= 0 {
                LEAST_ENERGY + 1
            } else {
                (mantissa >> -shifts) as i16
            };
        }
    }
}

/// The sum of squares, each shifted right by the returned count so that the sum fits.
#[inline(always)]
fn energy(samples: &[i16]) -> (u32, i32) {
    let mut largest = -1i16;
    for x in samples {
        largest = largest.max(x.wrapping_abs());
    }
    let largest = i32::from(largest);
    let room = (largest * largest).leading_zeros() as i32 - 1;
    let bits = 32 - (samples.len() as u32).leading_zeros() as i32;
    let scaling = if largest == 0 || room > bits {
        0
    } else {
        bits - room
    };
    let mut sum = 0i32;
    for x in samples {
        let x = i32::from(*x);
        sum = sum.wrapping_add((x * x) >> scaling);
    }
    (sum as u32, scaling)
}
