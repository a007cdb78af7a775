//! To half the rate and back: a filter that lets the lower half of the band pass.
//!
//! Every second tap of such a filter is zero and the one in the middle is a half, so that each way
//! costs eight products a sample. What lies a quarter above the border is 66 dB down; both ways
//! together take 31 samples.

use crate::sound::{Lane, QUANTUM};

/// Half a quantum: what lines are read and written by.
pub(crate) const BLOCK: usize = QUANTUM / 2;
/// Samples of a block.
pub(crate) type Block = [f32; BLOCK];

/// Taps at odd distances from the middle, on one side of it.
pub(crate) const TAPS: [f32; 8] = [
    0.315_066_12,
    -0.096_700_28,
    0.049_024_42,
    -0.026_948_53,
    0.014_492_068,
    -0.007_186_467_6,
    0.003_078_048_1,
    -0.001_049_237_3,
];
/// Samples of the lower rate that come before a block.
const BEFORE: usize = 2 * TAPS.len() - 1;

/// The taps' sum around each sample of `line` from the [`BEFORE`]th on.
#[inline(always)]
fn filtered(line: &[f32; BEFORE + BLOCK]) -> Block {
    let mut sums = [0.0; BLOCK];
    for (m, tap) in TAPS.iter().enumerate() {
        let (later, earlier) = (TAPS.len() + m, TAPS.len() - 1 - m);
        for k in 0..BLOCK {
            sums[k] += tap * (line[k + later] + line[k + earlier]);
        }
    }
    sums
}

/// The end of `line` before the next block.
#[inline(always)]
fn last<const N: usize>(line: &[f32]) -> [f32; N] {
    *line.last_chunk().unwrap_or(&[0.0; N])
}

/// Halves the rate of one channel.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Halve {
    even: [f32; BEFORE],
    odd: [f32; TAPS.len()],
}

impl Halve {
    #[inline(always)]
    pub(crate) fn run(&mut self, input: &Lane) -> Block {
        let mut even = [0.0; BEFORE + BLOCK];
        let mut odd = [0.0; TAPS.len() + BLOCK];
        even[..BEFORE].copy_from_slice(&self.even);
        odd[..TAPS.len()].copy_from_slice(&self.odd);
        for k in 0..BLOCK {
            even[BEFORE + k] = input[2 * k];
            odd[TAPS.len() + k] = input[2 * k + 1];
        }
        let mut out = filtered(&even);
        for k in 0..BLOCK {
            out[k] += 0.5 * odd[k];
        }
        self.even = last(&even);
        self.odd = last(&odd);
        out
    }
}

/// Doubles the rate of one channel.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Double {
    before: [f32; BEFORE],
}

impl Double {
    #[inline(always)]
    pub(crate) fn run(&mut self, input: &Block) -> Lane {
        let mut line = [0.0; BEFORE + BLOCK];
        line[..BEFORE].copy_from_slice(&self.before);
        line[BEFORE..].copy_from_slice(input);
        let between = filtered(&line);
        let mut out = [0.0; QUANTUM];
        for k in 0..BLOCK {
            out[2 * k] = line[k + TAPS.len() - 1];
            out[2 * k + 1] = 2.0 * between[k];
        }
        self.before = last(&line);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATE: usize = 4 * TAPS.len() - 1;

    /// Level of a tone after both ways, in decibels, all that comes out counted.
    fn level(turns: f64) -> f64 {
        let tone = |n: usize| (std::f64::consts::TAU * turns * n as f64).sin();
        let (mut halve, mut double) = (Halve::default(), Double::default());
        let (mut heard, mut said) = (0.0, 0.0);
        for quantum in 0..100 {
            let input: Lane = std::array::from_fn(|j| tone(quantum * QUANTUM + j) as f32);
            let output = double.run(&halve.run(&input));
            if quantum > 0 {
                heard += output.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>();
                said += input.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>();
            }
        }
        10.0 * (heard / said).log10()
    }

    #[test]
    fn the_lower_half_of_the_band_passes_and_the_upper_does_not() {
        for turns in [0.001, 0.05, 0.1, 0.19] {
            assert!(level(turns).abs() < 0.03, "{turns}: {} dB", level(turns));
        }
        for turns in [0.31, 0.35, 0.4, 0.45] {
            assert!(level(turns) < -60.0, "{turns}: {} dB", level(turns));
        }
    }

    #[test]
    fn a_tone_is_late_by_what_is_said_and_otherwise_the_same() {
        let tone = |n: usize| (0.3 * n as f32).sin();
        let (mut halve, mut double) = (Halve::default(), Double::default());
        for quantum in 0..20 {
            let input = std::array::from_fn(|j| tone(quantum * QUANTUM + j));
            let output = double.run(&halve.run(&input));
            for (j, value) in output.iter().enumerate() {
                let n = quantum * QUANTUM + j;
                assert!(n < 100 || (value - tone(n - LATE)).abs() < 2e-3, "{n}");
            }
        }
    }
}
