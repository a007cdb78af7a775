//! How periodic a signal is around each frame: the top of its normalised autocorrelation.

use warpsmith_signal::{Result, with_room};

use crate::pitch::PitchRange;
use crate::pitch::{ArrivingFrames, Autocorrelation, Placement, Stretch};

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
        let frames = self.placement.frames(signal.len());
        let mut tops = Vec::with_capacity(frames);
        let all = Stretch::all(signal);
        self.correlation.tops(all, 0..frames, self.lags, &mut tops);
        (self.placement.hops_to_first(signal.len()), tops)
    }
}

/// The same of a signal that arrives piece by piece, of a length that is known.
pub(crate) struct ArrivingTops {
    periodicity: Periodicity,
    frames: ArrivingFrames,
    tops: Vec<f32>,
}

impl ArrivingTops {
    pub(crate) fn new(periodicity: Periodicity, samples: usize) -> Self {
        Self {
            frames: ArrivingFrames::new(periodicity.placement, samples),
            tops: with_room(periodicity.placement.frames(samples)),
            periodicity,
        }
    }

    /// Takes the next samples.
    pub(crate) fn push(&mut self, piece: &[f32]) {
        let ready = self.frames.push(piece);
        let end = ready.end;
        let Periodicity {
            correlation, lags, ..
        } = &mut self.periodicity;
        correlation.tops(self.frames.stretch(), ready, *lags, &mut self.tops);
        self.frames.take(end);
    }

    /// As [`Periodicity::of`], when all has arrived.
    pub(crate) fn finish(self) -> (usize, Vec<f32>) {
        let first = self
            .periodicity
            .placement
            .hops_to_first(self.frames.length());
        (first, self.tops)
    }
}
