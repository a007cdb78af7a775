//! To half the rate and back: a filter that lets the lower half of the band pass.
//!
//! Every second tap of such a filter is zero and the one in the middle is a half, so that each way
//! costs eight products a sample. What lies a quarter above the border is 66 dB down; both ways
//! together take 31 samples.

use crate::sound::{Aligned, Lane, QUANTUM};

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
/// Samples of the lower rate that come before a block: one more than the taps reach, so that a block
/// begins with a vector.
const BEFORE: usize = 2 * TAPS.len();

/// A block and what comes before it.
type Around = Aligned<[f32; BEFORE + BLOCK]>;

/// The taps' sum around each sample of `line` from the [`BEFORE`]th on.
#[inline(always)]
fn filtered(line: &[f32; BEFORE + BLOCK]) -> Block {
    let mut sums = [0.0; BLOCK];
    for (m, tap) in TAPS.iter().enumerate() {
        let (later, earlier) = (TAPS.len() + 1 + m, TAPS.len() - m);
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
    /// Even and odd samples, each after what came before them.
    #[inline(always)]
    fn take(&mut self, input: &Lane, even: &mut Around, odd: &mut [f32; TAPS.len() + BLOCK]) {
        even.0[..BEFORE].copy_from_slice(&self.even);
        odd[..TAPS.len()].copy_from_slice(&self.odd);
        for k in 0..BLOCK {
            even.0[BEFORE + k] = input[2 * k];
            odd[TAPS.len() + k] = input[2 * k + 1];
        }
        self.even = last(&even.0);
        self.odd = last(odd);
    }

    /// Halves the rate of three channels. All are taken before one is filtered: a vector that lies
    /// across two that have just been written waits for both.
    #[inline(always)]
    pub(crate) fn run(channels: &mut [Self; 3], inputs: [&Lane; 3]) -> [Block; 3] {
        let mut even = [Aligned([0.0; BEFORE + BLOCK]); 3];
        let mut odd = [[0.0; TAPS.len() + BLOCK]; 3];
        for i in 0..3 {
            channels[i].take(inputs[i], &mut even[i], &mut odd[i]);
        }
        let mut out = [[0.0; BLOCK]; 3];
        for i in 0..3 {
            out[i] = filtered(&even[i].0);
            for k in 0..BLOCK {
                out[i][k] += 0.5 * odd[i][k];
            }
        }
        out
    }
}

/// Doubles the rate of one channel.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Double {
    before: [f32; BEFORE],
}

impl Double {
    /// A block after what came before it.
    #[inline(always)]
    fn take(&mut self, input: &Block, line: &mut Around) {
        line.0[..BEFORE].copy_from_slice(&self.before);
        line.0[BEFORE..].copy_from_slice(input);
        self.before = last(&line.0);
    }

    /// Doubles the rate of two channels; both are taken first, as in [`Halve::run`].
    #[inline(always)]
    pub(crate) fn run(channels: &mut [Self; 2], inputs: &[Block; 2]) -> [Lane; 2] {
        let mut lines = [Aligned([0.0; BEFORE + BLOCK]); 2];
        for i in 0..2 {
            channels[i].take(&inputs[i], &mut lines[i]);
        }
        let mut out = [[0.0; QUANTUM]; 2];
        for i in 0..2 {
            let between = filtered(&lines[i].0);
            for k in 0..BLOCK {
                out[i][2 * k] = lines[i].0[k + TAPS.len()];
                out[i][2 * k + 1] = 2.0 * between[k];
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATE: usize = 4 * TAPS.len() - 1;

    /// Both ways, of three channels and of two of them; gives the last one of those.
    fn there_and_back() -> impl FnMut(&Lane) -> Lane {
        let (mut halves, mut doubles) = ([Halve::default(); 3], [Double::default(); 2]);
        move |input| {
            let [_, left, right] = Halve::run(&mut halves, [&[9.0; QUANTUM], input, input]);
            let [left, right] = Double::run(&mut doubles, &[left, right]);
            assert_eq!(left, right);
            right
        }
    }

    /// Level of a tone after both ways, in decibels, all that comes out counted.
    fn level(turns: f64) -> f64 {
        let tone = |n: usize| (std::f64::consts::TAU * turns * n as f64).sin();
        let mut there_and_back = there_and_back();
        let (mut heard, mut said) = (0.0, 0.0);
        for quantum in 0..100 {
            let input: Lane = std::array::from_fn(|j| tone(quantum * QUANTUM + j) as f32);
            let output = there_and_back(&input);
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
        let mut there_and_back = there_and_back();
        for quantum in 0..20 {
            let input = std::array::from_fn(|j| tone(quantum * QUANTUM + j));
            let output = there_and_back(&input);
            for (j, value) in output.iter().enumerate() {
                let n = quantum * QUANTUM + j;
                assert!(n < 100 || (value - tone(n - LATE)).abs() < 2e-3, "{n}");
            }
        }
    }
}
