//! What runs teach: measured over predicted time, per octave of size, as a moving average.
//!
//! A run that is further from the average than four times its usual deviation is ignored once;
//! several in a row are believed, because then the machine has changed.

use serde::{Deserialize, Serialize};

/// Octaves of four: sizes from 1 to 2⁴⁸.
const BINS: usize = 24;
/// Weight of a new run.
const WEIGHT: f64 = 0.25;
/// Runs in a row that are too far off to be chance.
const STUBBORN: u8 = 3;

/// A learned correction.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Correction {
    bins: [Bin; BINS],
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Bin {
    /// Average of the logarithm of measured over predicted.
    log: f64,
    /// Average absolute deviation from it.
    deviation: f64,
    runs: u32,
    strange: u8,
}

impl Default for Bin {
    fn default() -> Self {
        Self {
            log: 0.0,
            deviation: 0.1,
            runs: 0,
            strange: 0,
        }
    }
}

fn bin(size: f64) -> usize {
    ((size.max(1.0).log2() / 2.0) as usize).min(BINS - 1)
}

impl Correction {
    /// Factor for predictions at this size.
    pub fn ratio(&self, size: f64) -> f64 {
        self.bins[bin(size)].log.exp()
    }

    /// Runs seen at this size.
    pub fn runs(&self, size: f64) -> u32 {
        self.bins[bin(size)].runs
    }

    /// Takes note of a run: `predicted` is what the curve said without this correction.
    pub fn observe(&mut self, size: f64, predicted: f64, measured: f64) {
        let log = (measured / predicted).ln();
        if !log.is_finite() {
            return;
        }
        // More than a thousandfold is no correction but another machine.
        let log = log.clamp(-7.0, 7.0);
        let bin = &mut self.bins[bin(size)];
        let off = (log - bin.log).abs();
        if bin.runs > 2 && off > 4.0 * bin.deviation.max(0.02) && bin.strange < STUBBORN {
            bin.strange += 1;
            return;
        }
        // The first run says more than nothing, and a change that lasted is taken as it is.
        let weight = if bin.runs == 0 || bin.strange >= STUBBORN {
            1.0
        } else {
            WEIGHT
        };
        bin.log += weight * (log - bin.log);
        bin.deviation += WEIGHT * (off.min(1.0) - bin.deviation);
        bin.runs = bin.runs.saturating_add(1);
        bin.strange = 0;
    }

    /// Whether every number is one that observing can lead to.
    pub(crate) fn is_sound(&self) -> bool {
        self.bins
            .iter()
            .all(|bin| bin.log.abs() <= 7.0 && (0.0..=2.0).contains(&bin.deviation))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_at_half_its_rate_is_noticed_within_twenty_runs_and_forgotten_again() {
        let mut correction = Correction::default();
        for _ in 0..10 {
            correction.observe(1e6, 1.0, 1.02);
        }
        assert!((correction.ratio(1e6) - 1.02).abs() < 0.03);
        for _ in 0..20 {
            correction.observe(1e6, 1.0, 2.0);
        }
        assert!(
            (correction.ratio(1e6) - 2.0).abs() < 0.1,
            "{}",
            correction.ratio(1e6)
        );
        for _ in 0..20 {
            correction.observe(1e6, 1.0, 1.0);
        }
        assert!((correction.ratio(1e6) - 1.0).abs() < 0.1);
        // Other sizes learned nothing.
        assert_eq!(correction.ratio(10.0), 1.0);
    }

    #[test]
    fn one_interrupted_run_changes_nothing() {
        let mut correction = Correction::default();
        for _ in 0..10 {
            correction.observe(64.0, 1.0, 1.0);
        }
        correction.observe(64.0, 1.0, 30.0);
        assert!((correction.ratio(64.0) - 1.0).abs() < 1e-9);
        for nonsense in [0.0, f64::NAN, f64::INFINITY, -1.0] {
            correction.observe(64.0, 1.0, nonsense);
        }
        assert!(correction.is_sound());
    }
}
