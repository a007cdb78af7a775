//! Parameters on their way: no knob jumps.

use crate::params::Params;
use crate::sound::QUANTUM;

/// A value that follows its target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Glide {
    pub(crate) value: f64,
    target: f64,
}

impl Glide {
    fn at(value: f64) -> Self {
        Self {
            value,
            target: value,
        }
    }

    fn step(&mut self, share: f64) {
        self.value += (self.target - self.value) * share;
        if (self.target - self.value).abs() < 1e-6 {
            self.value = self.target;
        }
    }
}

/// Seconds in which two thirds of a change happen.
const GLIDE_SECONDS: f64 = 0.08;

/// The parameters that act at once, smoothed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Controls {
    /// log2 of the filter's cutoff in Hz.
    pub(crate) cutoff: Glide,
    pub(crate) space: Glide,
    pub(crate) volume: Glide,
    /// What the mix is multiplied by.
    pub(crate) trim: Glide,
    share: f64,
}

/// log2 of the pads' cutoff: 300 Hz dark and calm, 12 kHz and more bright and intense.
fn cutoff(params: &Params) -> f64 {
    300f64.log2() + 4.5 * f64::from(params.brightness) + f64::from(params.intensity)
}

/// The factor of the trim's decibels.
fn trim(params: &Params) -> f64 {
    10f64.powf(f64::from(params.trim) / 20.0)
}

impl Controls {
    pub(crate) fn new(params: &Params, sample_rate: u32) -> Self {
        let quantum_seconds = QUANTUM as f64 / f64::from(sample_rate);
        Self {
            cutoff: Glide::at(cutoff(params)),
            space: Glide::at(f64::from(params.space)),
            volume: Glide::at(f64::from(params.volume)),
            trim: Glide::at(trim(params)),
            share: 1.0 - (-quantum_seconds / GLIDE_SECONDS).exp(),
        }
    }

    pub(crate) fn aim(&mut self, params: &Params) {
        self.cutoff.target = cutoff(params);
        self.space.target = f64::from(params.space);
        self.volume.target = f64::from(params.volume);
        self.trim.target = trim(params);
    }

    /// Moves on by a quantum.
    pub(crate) fn step(&mut self) {
        self.cutoff.step(self.share);
        self.space.step(self.share);
        self.volume.step(self.share);
        self.trim.step(self.share);
    }
}
