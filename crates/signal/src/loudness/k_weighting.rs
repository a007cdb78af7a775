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

/// Summed weighted squares of every whole step, all channels together, of sound that arrives in pieces: any
/// cutting gives the same bits.
pub(super) struct StepSums {
    step: usize,
    sections: [Biquad; 2],
    /// What is left of each channel, and how many of its steps were summed before.
    pending: Vec<Vec<f32>>,
    before: usize,
    sums: Vec<f64>,
}

impl StepSums {
    pub(super) fn new(sample_rate: u32, channels: usize) -> Self {
        let rate = f64::from(sample_rate);
        Self {
            step: step(sample_rate).max(1),
            sections: [shelf(rate), high_pass(rate)],
            pending: vec![Vec::new(); channels],
            before: 0,
            sums: Vec::new(),
        }
    }

    /// Takes the next samples of each channel.
    pub(super) fn push(&mut self, channels: &[&[f32]]) {
        for (pending, channel) in self.pending.iter_mut().zip(channels) {
            pending.extend_from_slice(channel);
        }
        while self.waiting_steps() >= BLOCK {
            self.add(BLOCK);
            let gone = (self.before + BLOCK - AHEAD) * self.step;
            for pending in &mut self.pending {
                pending.drain(..gone);
            }
            self.before = AHEAD;
        }
    }

    /// The sums, those of the steps that are left too.
    pub(super) fn finish(mut self) -> Vec<f64> {
        self.add(self.waiting_steps());
        self.sums
    }

    fn waiting_steps(&self) -> usize {
        self.pending.first().map_or(0, Vec::len) / self.step - self.before
    }

    /// Adds the sums of the next `steps` steps.
    fn add(&mut self, steps: usize) {
        let start = self.sums.len();
        self.sums.resize(start + steps, 0.0);
        let channels = self.pending.len();
        for (index, channel) in self.pending.iter().enumerate() {
            let weight = channel_weight(index, channels);
            if weight > 0.0 {
                let stretch = Stretch {
                    channel,
                    step: self.step,
                    before: self.before,
                };
                stretch.add_step_sums(self.sections, weight, &mut self.sums[start..]);
            }
        }
    }
}

/// Summed weighted squares of every whole step of a whole recording.
#[cfg(test)]
fn step_sums(audio: &Audio) -> Vec<f64> {
    let mut sums = StepSums::new(audio.sample_rate, audio.channels.len());
    for_pieces(audio, |channels| sums.push(channels));
    sums.finish()
}

/// Shows `see` a recording piece by piece, so that what looks at it stays in near memory.
pub(super) fn for_pieces(audio: &Audio, mut see: impl FnMut(&[&[f32]])) {
    const FRAMES: usize = 1 << 16;
    for start in (0..audio.frames()).step_by(FRAMES) {
        let end = (start + FRAMES).min(audio.frames());
        let channels: Vec<&[f32]> = audio.channels.iter().map(|c| &c[start..end]).collect();
        see(&channels);
    }
}

/// Stretches that are filtered side by side.
const LANES: usize = 16;
/// Steps that a stretch's filters hear before it starts.
const AHEAD: usize = 3;
/// Steps that are summed together.
const BLOCK: usize = 64 * LANES;
/// Samples that are brought side by side at a time.
const PIECE: usize = 64;

/// A number to each stretch, where a machine takes vectors from memory at once.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct Beside([f64; LANES]);

/// Some steps of a channel, behind `before` steps that are heard and not summed.
struct Stretch<'a> {
    channel: &'a [f32],
    step: usize,
    before: usize,
}

impl Stretch<'_> {
    /// Adds the summed squares, after `sections` and times `weight`, to the sums of the steps.
    fn add_step_sums(&self, sections: [Biquad; 2], weight: f64, sums: &mut [f64]) {
        let (step, before) = (self.step, self.before);
        let steps = sums.len();
        let each = steps.div_ceil(LANES);
        let mut filters = sections.map(Section::new);
        let silence = vec![0.0; step];
        let mut samples = [[0.0f32; LANES]; PIECE];
        for turn in 0..AHEAD + each {
            // Places in the channel; before its start there is silence.
            let at = |lane: usize| (before + lane * each + turn).checked_sub(AHEAD);
            let mut squares = Beside([0.0; LANES]);
            for start in (0..step).step_by(PIECE) {
                let count = PIECE.min(step - start);
                for lane in 0..LANES {
                    let inside = at(lane).filter(|number| *number < before + steps);
                    let input =
                        inside.map_or(&silence[..], |number| &self.channel[number * step..]);
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
                    let number = lane * each + turn - AHEAD;
                    if let Some(sum) = sums.get_mut(number) {
                        *sum += weight * squares;
                    }
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
        for (rate, steps) in [(8_000u32, 4), (8_000, 37), (8_000, 2100), (44_100, 20)] {
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
