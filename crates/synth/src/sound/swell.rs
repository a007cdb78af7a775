//! The swell: noise under a slow envelope, averaged over 100 samples.
//!
//! The average is a running sum of integers, so it is exact and does not depend on where it began;
//! the first engine convolved, which took most of its time.

use super::envelope::Envelope;
use super::instrument::pan_gains;
use super::technique::Average;
use super::tone::Amplitude;
use super::{Lane, QUANTUM};
use crate::note::{Formulas, Note};

/// Samples that the average spans, and how many of them lie before.
pub(crate) const SPAN: usize = 100;
pub(crate) const BEFORE: usize = 50;
/// Integers per unit of amplitude: 2²⁰, so that 100 of the largest stay below 2³¹.
pub(crate) const UNITS: f32 = 1_048_576.0;
/// Rate of the swell's own tremolo in Hz.
pub(crate) const TREMOLO_HZ: f64 = 0.2;
/// Adding and taking away 1.5·2²³ rounds to the nearest integer, in every instruction set.
pub(crate) const ROUNDER: f32 = 12_582_912.0;

/// 32 bits that depend on all bits of `x`.
#[inline(always)]
pub(crate) fn scramble(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

/// Noise of variance one and mean zero: the sum of four uniform numbers, which a hundred-sample
/// average cannot tell from a normal one.
#[inline(always)]
pub(crate) fn noise(seed: u32, index: u32) -> f32 {
    let a = scramble(index.wrapping_mul(2).wrapping_add(seed));
    let b = scramble(index.wrapping_mul(2).wrapping_add(seed).wrapping_add(1) ^ 0x9e37_79b9);
    let sum = (a & 0xffff) + (a >> 16) + (b & 0xffff) + (b >> 16);
    // Four uniform 16-bit numbers have a deviation of 2¹⁶/√3.
    (sum.cast_signed() - 131_070) as f32 * (1.732_050_8 / 65_536.0)
}

/// `value` in units, rounded.
#[inline(always)]
pub(crate) fn units(value: f32) -> i32 {
    (value * UNITS + ROUNDER).to_bits().cast_signed() - ROUNDER.to_bits().cast_signed()
}

/// The amplitude of a swell's noise before the average.
pub(crate) fn swell_amplitude(note: &Note, sample_rate: u32, formulas: Formulas) -> Amplitude {
    let step = std::f64::consts::TAU * TREMOLO_HZ / f64::from(sample_rate);
    let envelope = Envelope::swell(note.length, formulas);
    // Louder than 1 would leave the integers' range.
    let gain = f64::from(note.velocity.clamp(0.0, 1.0));
    Amplitude::new(envelope, gain, 0.5, 0.5, step)
}

/// A swell that sounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Swell {
    start: u64,
    length: u32,
    seed: u32,
    gains: [f32; 2],
    amplitude: Amplitude,
    /// Noise in units at `k0 − 50 .. k0 + 114`, where `k0` is the quantum after the last.
    window: [i32; SPAN + QUANTUM],
    primed: bool,
}

impl Swell {
    pub(crate) fn new(note: &Note, sample_rate: u32, formulas: Formulas) -> Self {
        Self {
            start: note.start,
            length: note.length,
            seed: note.seed,
            gains: pan_gains(note.pan, formulas).map(|gain| gain as f32),
            amplitude: swell_amplitude(note, sample_rate, formulas),
            window: [0; SPAN + QUANTUM],
            primed: false,
        }
    }

    pub(crate) fn end(&self) -> u64 {
        self.start + u64::from(self.length)
    }

    /// The noise of samples `k..k + 64` in units.
    #[inline(always)]
    fn draw(&mut self, k: i64, out: &mut [i32]) {
        let mut amplitude = [0.0; QUANTUM];
        self.amplitude.fill(k, &mut amplitude);
        // Negative positions have no amplitude, so what noise they wrap to does not matter.
        let first = k as u32;
        for (j, out) in out.iter_mut().enumerate() {
            *out = units(noise(self.seed, first.wrapping_add(j as u32)) * amplitude[j]);
        }
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, average: Average, position: u64, [left, right]: &mut [Lane; 2]) {
        let k0 = position.cast_signed() - self.start.cast_signed();
        let mut window = self.window;
        if !self.primed {
            // The two quanta before; together with the shift below they fill the window.
            let mut early = [0; 2 * QUANTUM];
            let first = k0 + BEFORE as i64 - 2 * QUANTUM as i64;
            let (one, two) = early.split_at_mut(QUANTUM);
            self.draw(first, one);
            self.draw(first + QUANTUM as i64, two);
            window[QUANTUM..].copy_from_slice(&early[2 * QUANTUM - SPAN..]);
            self.primed = true;
        }
        window.copy_within(QUANTUM.., 0);
        self.draw(k0 + BEFORE as i64, &mut window[SPAN..]);
        let mut sums = [0; QUANTUM];
        let mut sum: i32 = window[..SPAN].iter().sum();
        for j in 0..QUANTUM {
            if average == Average::Convolution {
                sum = window[j..j + SPAN].iter().sum();
            }
            sums[j] = sum;
            sum += window[SPAN + j] - window[j];
        }
        // The average looks beyond both ends of the note.
        let inside = |k: i64| k.clamp(0, QUANTUM as i64) as usize;
        sums[..inside(-k0)].fill(0);
        sums[inside(i64::from(self.length) - k0)..].fill(0);
        let scale = 1.0 / (SPAN as f32 * UNITS);
        let [to_left, to_right] = self.gains;
        for j in 0..QUANTUM {
            left[j] += sums[j] as f32 * scale * to_left;
        }
        for j in 0..QUANTUM {
            right[j] += sums[j] as f32 * scale * to_right;
        }
        self.window = window;
    }
}

/// Adds all `swells`.
pub(crate) struct AddSwells<'a> {
    pub(crate) swells: &'a mut [Swell],
    pub(crate) average: Average,
    pub(crate) position: u64,
    pub(crate) plain: &'a mut [Lane; 2],
}

impl warpsmith_lanes::Task for AddSwells<'_> {
    #[inline(always)]
    fn run(self) {
        for swell in self.swells {
            swell.add(self.average, self.position, self.plain);
        }
    }
}
