//! What a frame's pitch may be.

use crate::pitch::autocorrelation::Placement;
use crate::pitch::autocorrelation::sinc_peak;
use crate::pitch::range::PitchRange;
use warpsmith_signal::parabola;

/// A candidate of a frame; frequency 0 is unvoiced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) frequency: f64,
    pub(crate) strength: f64,
}

impl Candidate {
    pub(crate) fn unvoiced(strength: f64) -> Self {
        Self {
            frequency: 0.0,
            strength,
        }
    }
}

/// Places and heights of the `count` strongest tops above `least` of a frame's autocorrelation, by
/// parabolas.
pub(crate) fn tops<T: Copy + Into<f64>>(
    r: &[T],
    placement: Placement,
    range: PitchRange,
    least: f64,
    octave: f64,
    count: usize,
) -> Vec<(f64, f64)> {
    let mut found: Vec<(f64, f64)> = Vec::new();
    let last = placement.lags.min(r.len() - 1);
    for lag in 2..last {
        let [before, here, after] = [r[lag - 1], r[lag], r[lag + 1]].map(Into::into);
        if here > least && here > before && here >= after {
            found.push(parabola([before, here, after], lag));
        }
    }
    // The preference for high candidates decides which are kept.
    let worth = |&(place, height): &(f64, f64)| {
        height - octave * (range.low_hz * place / placement.rate).log2()
    };
    found.sort_by(|a, b| worth(b).total_cmp(&worth(a)));
    found.truncate(count);
    found
}

/// A top of an autocorrelation as a candidate, where it lies in the range.
pub(crate) fn candidate(
    (place, height): (f64, f64),
    rate: f64,
    range: PitchRange,
) -> Option<Candidate> {
    let frequency = rate / place;
    // Above 1 is an error of the interpolation, and as large as it is above.
    let strength = if height > 1.0 { 1.0 / height } else { height };
    (frequency <= range.high_hz && frequency >= range.low_hz).then_some(Candidate {
        frequency,
        strength,
    })
}

/// The `count` strongest tops above `least` of a frame's autocorrelation within the range, exact
/// between samples.
pub(crate) fn maxima(
    r: &[f32],
    placement: Placement,
    range: PitchRange,
    least: f64,
    octave: f64,
    count: usize,
) -> Vec<Candidate> {
    tops(r, placement, range, least, octave, count)
        .iter()
        .filter_map(|&(near, _)| candidate(sinc_peak(r, near), placement.rate, range))
        .collect()
}
