//! K-weighting after ITU-R BS.1770-4: a shelf for the head and a high-pass, and the weighted power of
//! all channels in steps of 100 ms.
//!
//! Filters are designed for the signal's own rate by the bilinear transform of the analogue
//! prototypes behind the recommendation's 48 kHz table, and run in f64.
//!
//! A filter waits for its own last output. So sixteen stretches of the signal are filtered side by side, each
//! from a few steps before its start on: what the filters remember falls by e²⁴ and more in a step, so that
//! after three nothing is left that rounding would not hide.

use std::f64::consts::PI;

use warpsmith_lanes::{Task, with_widest};

use crate::Biquad;
use crate::audio::Audio;

/// The head's shelf: +4 dB above about 1.7 kHz.
fn shelf(sample_rate: f64) -> Biquad {
    let k = (PI * 1_681.974_450_955_533 / sample_rate).tan();
    let (q, high) = (
        0.707_175_236_955_419_6,
        10f64.powf(3.999_843_853_973_347 / 20.0),
    );
    let band = high.powf(0.499_666_774_154_541_6);
    let norm = 1.0 + k / q + k * k;
    Biquad {
        b: [
            (high + band * k / q + k * k) / norm,
            2.0 * (k * k - high) / norm,
            (high - band * k / q + k * k) / norm,
        ],
        a: [2.0 * (k * k - 1.0) / norm, (1.0 - k / q + k * k) / norm],
    }
}

/// The revised low-frequency B curve: a high-pass at 38 Hz.
fn high_pass(sample_rate: f64) -> Biquad {
    let k = (PI * 38.135_470_876_024_44 / sample_rate).tan();
    let q = 0.500_327_037_323_877_3;
    let norm = 1.0 + k / q + k * k;
    Biquad {
        b: [1.0, -2.0, 1.0],
        a: [2.0 * (k * k - 1.0) / norm, (1.0 - k / q + k * k) / norm],
    }
}

/// Samples of a step.
pub(super) fn step(sample_rate: u32) -> usize {
    sample_rate as usize / 10
}

/// Summed weighted squares of every whole step, all channels together.
pub(super) fn step_sums(audio: &Audio) -> Vec<f64> {
    let step = step(audio.sample_rate).max(1);
    let rate = f64::from(audio.sample_rate);
    let mut sums = vec![0.0f64; audio.frames() / step];
    for (index, channel) in audio.channels.iter().enumerate() {
        let weight = channel_weight(index, audio.channels.len());
        if weight == 0.0 {
            continue;
        }
        let sections = [shelf(rate), high_pass(rate)];
        add_step_sums(channel, step, sections, weight, &mut sums);
    }
    sums
}

/// Stretches that are filtered side by side.
const LANES: usize = 16;
/// Steps that a stretch's filters hear before it starts.
const AHEAD: usize = 3;
/// Samples that are brought side by side at a time.
const PIECE: usize = 64;

/// A number to each stretch, where a machine takes vectors from memory at once.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct Beside([f64; LANES]);

/// Adds a channel's summed squares, after `sections` and times `weight`, to the sums of its steps.
fn add_step_sums(
    channel: &[f32],
    step: usize,
    sections: [Biquad; 2],
    weight: f64,
    sums: &mut [f64],
) {
    let steps = sums.len();
    let each = steps.div_ceil(LANES);
    let mut filters = sections.map(Section::new);
    let silence = vec![0.0; step];
    let mut samples = [[0.0f32; LANES]; PIECE];
    for turn in 0..AHEAD + each {
        let at = |lane: usize| (lane * each + turn).checked_sub(AHEAD);
        let mut squares = Beside([0.0; LANES]);
        for start in (0..step).step_by(PIECE) {
            let count = PIECE.min(step - start);
            for lane in 0..LANES {
                let inside = at(lane).filter(|number| *number < steps);
                let input = inside.map_or(&silence[..], |number| &channel[number * step..]);
                for (slot, x) in samples.iter_mut().zip(&input[start..start + count]) {
                    slot[lane] = *x;
                }
            }
            with_widest(PieceTask {
                samples: &samples[..count],
                filters: &mut filters,
                squares: &mut squares,
            });
        }
        if turn >= AHEAD {
            for (lane, squares) in squares.0.iter().enumerate() {
                if let Some(sum) = at(lane).and_then(|number| sums.get_mut(number)) {
                    *sum += weight * squares;
                }
            }
        }
    }
}

/// Filters a piece and adds the squares of what comes out.
struct PieceTask<'a> {
    samples: &'a [[f32; LANES]],
    filters: &'a mut [Section; 2],
    squares: &'a mut Beside,
}

impl Task for PieceTask<'_> {
    #[inline(always)]
    fn run(self) {
        // Where the compiler sees that nobody else does, they stay in registers.
        let (mut filters, mut sums) = (*self.filters, *self.squares);
        for filter in &mut filters {
            filter.forget_traces();
        }
        for samples in self.samples {
            let mut values = Beside([0.0; LANES]);
            for (value, x) in values.0.iter_mut().zip(samples) {
                *value = f64::from(*x);
            }
            for filter in &mut filters {
                filter.process(&mut values);
            }
            for (sum, value) in sums.0.iter_mut().zip(&values.0) {
                *sum += value * value;
            }
        }
        (*self.filters, *self.squares) = (filters, sums);
    }
}

/// A filter section with a state to each lane.
#[derive(Clone, Copy)]
struct Section {
    filter: Biquad,
    states: [Beside; 2],
}

impl Section {
    fn new(filter: Biquad) -> Self {
        Self {
            filter,
            states: [Beside([0.0; LANES]); 2],
        }
    }

    /// In silence a state falls until machines compute it in slow ways; long before, it is nothing.
    #[inline(always)]
    fn forget_traces(&mut self) {
        for Beside(states) in &mut self.states {
            for state in states {
                *state = if state.abs() < 1e-200 { 0.0 } else { *state };
            }
        }
    }

    #[inline(always)]
    fn process(&mut self, Beside(values): &mut Beside) {
        let Biquad { b, a } = self.filter;
        let [Beside(first), Beside(second)] = &mut self.states;
        for lane in 0..LANES {
            let value = values[lane];
            let out = b[0] * value + first[lane];
            // What waits for the output comes last.
            first[lane] = (b[1] * value + second[lane]) - a[0] * out;
            second[lane] = b[2] * value - a[1] * out;
            values[lane] = out;
        }
    }
}

/// The fourth channel of six and more is low-frequency effects and does not count; the surround
/// channels after it count 1.5 dB more.
fn channel_weight(index: usize, channels: usize) -> f64 {
    match (index, channels) {
        (3, 6..) => 0.0,
        (4.., 6..) | (3.., 5) => 1.41,
        _ => 1.0,
    }
}

/// LUFS of a mean weighted power.
pub(super) fn lufs(power: f64) -> f64 {
    -0.691 + 10.0 * power.log10()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cascade;

    #[test]
    fn stretches_side_by_side_have_the_sums_of_the_whole() {
        for (rate, steps) in [(8_000u32, 4), (8_000, 37), (44_100, 20)] {
            let step = step(rate);
            let channel: Vec<f32> = (0..steps * step + 11)
                .map(|n| {
                    let loud = (n / (5 * step)) % 3;
                    let tone = (n as f32 * 0.05).sin() + 0.3 * (n as f32 * 1.1).cos();
                    [1.0, 1e-3, 0.0][loud] * tone
                })
                .collect();
            let mut filter = Cascade::new(vec![shelf(f64::from(rate)), high_pass(f64::from(rate))]);
            let expected: Vec<f64> = channel
                .chunks_exact(step)
                .map(|samples| {
                    let squares = samples.iter().map(|x| filter.sample(f64::from(*x)).powi(2));
                    squares.sum()
                })
                .collect();
            let found = step_sums(&Audio {
                sample_rate: rate,
                channels: vec![channel],
            });
            assert_eq!(found.len(), steps);
            let loudest = expected.iter().copied().fold(0.0, f64::max);
            for (found, expected) in found.iter().zip(&expected) {
                let error = (found - expected).abs();
                assert!(
                    error <= 1e-9 * expected + 1e-13 * loudest,
                    "{found} {expected}"
                );
            }
        }
    }
}
