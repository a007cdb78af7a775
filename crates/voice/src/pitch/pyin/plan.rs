//! What pYIN's settings mean at a sample rate: periods, pitch bins, thresholds, and what a state stands
//! for.

use warpsmith_signal::{Framing, Result, SignalError};

use super::cpu::{PyinSettings, PyinTrack};
use crate::pitch::range::PitchRange;

/// Number of thresholds between 0 and 1.
pub(crate) const THRESHOLDS: usize = 100;

/// Everything that the trackers on the CPU and on a GPU share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PyinPlan {
    pub(crate) sample_rate: f64,
    pub(crate) framing: Framing,
    pub(crate) range: PitchRange,
    pub(crate) settings: PyinSettings,
    /// Shortest and longest period, samples.
    pub(crate) periods: (usize, usize),
    /// Pitch bins, how many make an octave, and how many of them a step may cross.
    pub(crate) bins: usize,
    pub(crate) per_octave: f64,
    pub(crate) reach: usize,
}

/// Bins, and bins that a step crosses, at most.
const MOST_BINS: usize = 30_000;
const MOST_REACH: usize = 1 << 20;

impl PyinPlan {
    pub(crate) fn new(
        sample_rate: u32,
        framing: Framing,
        range: PitchRange,
        settings: PyinSettings,
    ) -> Result<Self> {
        let framing = framing.checked()?;
        let periods = range.periods(sample_rate, framing)?;
        let per_octave = 12.0 * settings.bins_per_semitone as f64;
        let bins = (per_octave * (range.high_hz / range.low_hz).log2()).floor() as usize + 1;
        let rate = f64::from(sample_rate);
        let semitones = settings.octaves_per_second * 12.0 * framing.hop as f64 / rate;
        let reach = semitones.round_ties_even() as usize * settings.bins_per_semitone / 2;
        // States are numbered in 16 bits, voiced and unvoiced.
        if settings.bins_per_semitone == 0 || bins > MOST_BINS || reach > MOST_REACH {
            return Err(SignalError::parameter(
                "pitch bins",
                format!("{bins}, {reach} in a step"),
                format!("1 to {MOST_BINS} bins and steps of up to {MOST_REACH} are possible"),
            ));
        }
        Ok(Self {
            sample_rate: rate,
            framing,
            range,
            settings,
            periods,
            bins,
            per_octave,
            reach,
        })
    }

    /// Appends frequency and voicing of the states of a path: bins, and bins plus their number where the
    /// frame is unvoiced.
    pub(crate) fn append(&self, path: &[usize], track: &mut PyinTrack) {
        track.frequency.extend(path.iter().map(|state| {
            let octaves = (state % self.bins) as f64 / self.per_octave;
            (self.range.low_hz * octaves.exp2()) as f32
        }));
        track
            .voiced
            .extend(path.iter().map(|state| *state < self.bins));
    }

    /// Whether a signal of `samples` samples does not hold one of the shortest periods: nothing repeats in
    /// it, and what looks like a trough is the transform's rounding.
    pub(crate) fn is_too_short(&self, samples: usize) -> bool {
        samples <= self.periods.0
    }

    /// Probability that a beta-distributed threshold is at most `i/100`, for `i = 0..=100`; never falls,
    /// also where it is 1 but for rounding, so that no run of thresholds has a negative probability.
    pub(crate) fn thresholds(&self) -> Vec<f64> {
        // For whole a and b: the chance of at least a successes in a + b − 1 trials.
        let (a, b) = self.settings.beta;
        let trials = (a + b).saturating_sub(1);
        let mut largest = 0.0f64;
        (0..=THRESHOLDS)
            .map(|i| {
                let x = i as f64 / THRESHOLDS as f64;
                let mut choose = 1.0;
                let mut sum = 0.0;
                for j in 0..=trials {
                    if j >= a {
                        sum += choose * x.powi(j as i32) * (1.0 - x).powi((trials - j) as i32);
                    }
                    choose *= f64::from(trials - j) / f64::from(j + 1);
                }
                largest = largest.max(sum).min(1.0);
                largest
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith_signal::Padding;

    #[test]
    fn the_probability_of_thresholds_never_falls_and_ends_at_one() {
        let framing = Framing {
            length: 1024,
            hop: 160,
            padding: Padding::CentredZero,
        };
        let settings = PyinSettings::default();
        let plan = PyinPlan::new(16_000, framing, PitchRange::VOICE, settings).unwrap();
        let thresholds = plan.thresholds();
        assert!(thresholds.is_sorted());
        assert_eq!((thresholds[0], thresholds[THRESHOLDS]), (0.0, 1.0));
    }
}
