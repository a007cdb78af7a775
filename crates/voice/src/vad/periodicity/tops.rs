//! How periodic a signal is around each frame: the top of its normalised autocorrelation.

use warpsmith_signal::Result;

use crate::pitch::PitchRange;
use crate::pitch::{Autocorrelation, Placement};

/// Periods of the lowest frequency in a window.
const PERIODS: f64 = 4.0;

/// A planned measurement.
pub(crate) struct Periodicity {
    placement: Placement,
    correlation: Autocorrelation,
    /// First and one past the last lag of the range.
    lags: (usize, usize),
}

impl Periodicity {
    pub(crate) fn new(sample_rate: u32, hop: usize, range: PitchRange) -> Result<Self> {
        let placement = Placement::new(sample_rate, hop, range, PERIODS)?;
        let correlation = Autocorrelation::new(placement);
        let last = ((placement.rate / range.low_hz) as usize).min(correlation.reach());
        let first = ((placement.rate / range.high_hz) as usize).min(last);
        Ok(Self {
            placement,
            correlation,
            lags: (first, last),
        })
    }

    /// Where frames lie.
    pub(crate) fn placement(&self) -> Placement {
        self.placement
    }

    /// First and one past the last lag that is looked at.
    pub(crate) fn lags(&self) -> (usize, usize) {
        self.lags
    }

    /// The tops of all frames whose windows lie in the signal, and the number of hops from the
    /// signal's start to the first of them.
    pub(crate) fn of(&mut self, signal: &[f32]) -> (usize, Vec<f32>) {
        let tops = self.correlation.tops(signal, self.lags);
        (self.placement.hops_to_first(signal.len()), tops)
    }
}
