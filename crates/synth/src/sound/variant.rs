//! The arithmetics that the engine does not use, kept to show what they would cost.

use std::f32::consts::TAU;

use super::QUANTUM;
use super::oscillator::{Saw, saw, sine};
use super::technique::{Arithmetic, rounded};

/// A pitched wave of one quantum, before its amplitude.
#[derive(Clone, Copy)]
pub(crate) struct Wave {
    pub(crate) k0: i64,
    pub(crate) step: u64,
    pub(crate) saw_step: u64,
    pub(crate) saw_samples: f32,
    pub(crate) sine_share: f32,
    pub(crate) saw_share: f32,
}

fn integer_saw(phase: u32, samples: f32, kind: Saw) -> f32 {
    match kind {
        Saw::Naive => saw::<{ Saw::Naive as u8 }>(phase, samples),
        Saw::PolyBlep => saw::<{ Saw::PolyBlep as u8 }>(phase, samples),
        Saw::Spline => saw::<{ Saw::Spline as u8 }>(phase, samples),
    }
}

/// Turns a sample of a step.
fn turns(step: u64) -> f64 {
    step as f64 / 18_446_744_073_709_551_616.0
}

impl Wave {
    fn phase(&self, step: u64, j: usize) -> u32 {
        (step.wrapping_mul((self.k0 + j as i64).cast_unsigned()) >> 32) as u32
    }

    /// Sine and saw of integer phases, by `sine`.
    fn integer(&self, kind: Saw, j: usize, sine: impl Fn(u32) -> f32) -> (f32, f32) {
        let jump = integer_saw(self.phase(self.saw_step, j), self.saw_samples, kind);
        (sine(self.phase(self.step, j)), jump)
    }

    /// The wave of sample `j` times `amplitude`.
    pub(crate) fn sample(
        &self,
        arithmetic: Arithmetic,
        kind: Saw,
        j: usize,
        amplitude: f32,
    ) -> f32 {
        let mixed = |(a, b): (f32, f32)| self.sine_share * a + self.saw_share * b;
        match arithmetic {
            Arithmetic::IntegerPhase => mixed(self.integer(kind, j, sine)) * amplitude,
            Arithmetic::LibrarySine => {
                let library =
                    |phase: u32| (phase.cast_signed() as f32 * (TAU / 4_294_967_296.0)).sin();
                mixed(self.integer(kind, j, library)) * amplitude
            }
            Arithmetic::HalfAmplitude => {
                let (a, b) = self.integer(kind, j, sine);
                let wave = rounded::<13>(mixed((rounded::<13>(a), rounded::<13>(b))));
                rounded::<13>(wave * rounded::<13>(amplitude))
            }
            Arithmetic::BrainAmplitude => {
                let (a, b) = self.integer(kind, j, sine);
                let wave = rounded::<16>(mixed((rounded::<16>(a), rounded::<16>(b))));
                rounded::<16>(wave * rounded::<16>(amplitude))
            }
            Arithmetic::FloatPhase => {
                let k = (self.k0 + j as i64) as f32;
                let (a, b) = (turns(self.step) as f32 * k, turns(self.saw_step) as f32 * k);
                let jump = self.float_saw(b, kind);
                mixed(((TAU * a).sin(), jump)) * amplitude
            }
            Arithmetic::HalfEverything => {
                let k = rounded::<13>((self.k0 + j as i64) as f32 / 44_100.0);
                let hz = |step: u64| rounded::<13>((turns(step) * 44_100.0) as f32);
                let a = rounded::<13>(hz(self.step) * k);
                let b = rounded::<13>(hz(self.saw_step) * k);
                let pair = (
                    rounded::<13>((TAU * a).sin()),
                    rounded::<13>(self.float_saw(b, kind)),
                );
                rounded::<13>(rounded::<13>(mixed(pair)) * rounded::<13>(amplitude))
            }
            Arithmetic::Double => {
                let k = (self.k0 + j as i64) as f64;
                let wave = f64::from(self.sine_share)
                    * (std::f64::consts::TAU * turns(self.step) * k).sin()
                    + f64::from(self.saw_share) * f64::from(self.integer(kind, j, |_| 0.0).1);
                (wave * f64::from(amplitude)) as f32
            }
        }
    }

    /// A saw of a phase that was rounded before.
    fn float_saw(&self, turns: f32, kind: Saw) -> f32 {
        let phase = turns - turns.floor();
        integer_saw(
            (f64::from(phase) * 4_294_967_296.0) as u32,
            self.saw_samples,
            kind,
        )
    }

    /// Fills `out` with the quantum.
    pub(crate) fn fill(
        &self,
        arithmetic: Arithmetic,
        kind: Saw,
        amplitude: &[f32; QUANTUM],
        out: &mut [f32; QUANTUM],
    ) {
        for (j, (out, amplitude)) in out.iter_mut().zip(amplitude).enumerate() {
            *out = self.sample(arithmetic, kind, j, *amplitude);
        }
    }
}
