//! From 16, 32 and 48 kHz to the detector's 8 kHz, in integers that wrap as the original's do.

use super::tables::{ALL_PASS, HALVE, TWO_THIRDS};

/// Half the rate by two all-pass branches, for 32 → 16 and 16 → 8 kHz.
#[derive(Clone, Debug, Default)]
pub(super) struct Halving {
    branches: [i32; 2],
}

impl Halving {
    /// Writes one sample for every two; a last odd one is left out.
    #[inline(always)]
    pub(super) fn process(&mut self, samples: &[i16], out: &mut [i16]) {
        let [mut even, mut odd] = self.branches;
        for (pair, slot) in samples.chunks_exact(2).zip(out) {
            *slot = halve(&mut even, HALVE[0], pair[0])
                .wrapping_add(halve(&mut odd, HALVE[1], pair[1]));
        }
        self.branches = [even, odd];
    }
}

#[inline(always)]
fn halve(state: &mut i32, coefficient: i32, sample: i16) -> i16 {
    let sample = i32::from(sample);
    let out = ((*state >> 1) + ((coefficient * sample) >> 14)) as i16;
    *state = sample - ((coefficient * i32::from(out)) >> 12);
    out
}

/// Three first-order all-pass sections in a row on values in Q15.
#[derive(Clone, Debug, Default)]
struct AllPass {
    taps: [i32; 4],
}

impl AllPass {
    #[inline(always)]
    fn process(&mut self, value: i32, coefficients: [i32; 3]) -> i32 {
        let [s0, s1, s2, s3] = self.taps;
        // The first section rounds, the others cut towards zero.
        let rounded = value.wrapping_sub(s1).wrapping_add(1 << 13) >> 14;
        let first = s0.wrapping_add(rounded.wrapping_mul(coefficients[0]));
        let second = s1.wrapping_add(cut(first.wrapping_sub(s2)).wrapping_mul(coefficients[1]));
        let third = s2.wrapping_add(cut(second.wrapping_sub(s3)).wrapping_mul(coefficients[2]));
        self.taps = [value, first, second, third];
        third
    }
}

/// Fourteen bits less, towards zero but for exact negative multiples, which gain one.
#[inline(always)]
fn cut(difference: i32) -> i32 {
    let shifted = difference >> 14;
    shifted + i32::from(shifted < 0)
}

/// Samples of 10 ms at 48 kHz.
const BLOCK: usize = 480;

/// A sixth of the rate: 48 → 24, low-pass, 24 → 16, 16 → 8 kHz, in blocks of 10 ms.
#[derive(Clone, Debug, Default)]
pub(super) struct Sixth {
    to_24: [AllPass; 2],
    low_pass: [AllPass; 4],
    /// The odd sample that the low-pass saw last.
    delayed: i32,
    /// The low-passed samples that reach into the next block.
    history: [i32; 8],
    to_8: [AllPass; 2],
}

impl Sixth {
    /// 480 samples to 80.
    pub(super) fn process(&mut self, samples: &[i16; BLOCK], out: &mut [i16]) {
        let [light, heavy] = ALL_PASS;
        let mut smooth = [0i32; 8 + BLOCK / 2];
        smooth[..8].copy_from_slice(&self.history);
        for (pairs, slots) in samples.chunks_exact(4).zip(smooth[8..].chunks_exact_mut(2)) {
            let mut at_24 = [0i32; 2];
            for (pair, slot) in pairs.chunks_exact(2).zip(&mut at_24) {
                let [a, b] = [pair[0], pair[1]].map(|x| (i32::from(x) << 15) + (1 << 14));
                *slot = (self.to_24[0].process(a, heavy) >> 1)
                    .wrapping_add(self.to_24[1].process(b, light) >> 1);
            }
            // Each output is the mean of a branch over this sample and one over the sample before.
            let late = self.low_pass[0].process(self.delayed, heavy) >> 1;
            let here = self.low_pass[1].process(at_24[0], light) >> 1;
            slots[0] = late.wrapping_add(here) >> 15;
            let late = self.low_pass[2].process(at_24[0], heavy) >> 1;
            let here = self.low_pass[3].process(at_24[1], light) >> 1;
            slots[1] = late.wrapping_add(here) >> 15;
            self.delayed = at_24[1];
        }
        self.history.copy_from_slice(&smooth[BLOCK / 2..]);
        for (slot, start) in out.iter_mut().zip((0..BLOCK / 2).step_by(3)) {
            let reach = &smooth[start..start + 9];
            let mut at_16 = [1i32 << 14; 2];
            for tap in 0..8 {
                let (there, back) = (TWO_THIRDS[tap], TWO_THIRDS[7 - tap]);
                at_16[0] = at_16[0].wrapping_add(there.wrapping_mul(reach[tap]));
                at_16[1] = at_16[1].wrapping_add(back.wrapping_mul(reach[tap + 1]));
            }
            let sum = (self.to_8[0].process(at_16[0], heavy) >> 1)
                .wrapping_add(self.to_8[1].process(at_16[1], light) >> 1);
            *slot = (sum >> 15).clamp(i32::from(i16::MIN), i32::from(i16::MAX)) as i16;
        }
    }
}
