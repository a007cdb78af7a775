//! What a frame's pitch may be, and the best way through the candidates of all frames.

use crate::pitch::autocorrelation::Placement;
use crate::pitch::autocorrelation::sinc_peak;
use crate::pitch::range::PitchRange;

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

/// What a path pays, a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathCosts {
    pub(crate) ceiling_hz: f64,
    /// To an octave below the ceiling.
    pub(crate) octave: f64,
    /// To an octave of a jump.
    pub(crate) octave_jump: f64,
    pub(crate) voicing_change: f64,
}

/// A candidate as the path sees it.
#[derive(Clone, Copy)]
struct Cell {
    voiced: bool,
    /// The logarithm of its frequency times what an octave of a jump costs.
    height: f64,
    value: f64,
}

/// Multiples of 2⁻²⁸. Sums of 33 million are exact then: a path found in pieces is the same path, ties
/// included.
fn whole(x: f64) -> f64 {
    const UNITS: f64 = (1u64 << 28) as f64;
    (x * UNITS).round_ties_even() / UNITS
}

impl PathCosts {
    fn cell(&self, candidate: &Candidate) -> Cell {
        if candidate.frequency > 0.0 {
            let height = candidate.frequency.log2();
            let below = self.ceiling_hz.log2() - height;
            Cell {
                voiced: true,
                height: whole(self.octave_jump * height),
                value: whole(candidate.strength - self.octave * below),
            }
        } else {
            Cell {
                voiced: false,
                height: 0.0,
                value: whole(candidate.strength),
            }
        }
    }

    /// The candidate of each frame on the path with the highest sum of strengths less costs, the first
    /// among equals.
    pub(crate) fn best_path(&self, frames: &[Vec<Candidate>]) -> Vec<usize> {
        let Some((first, rest)) = frames.split_first() else {
            return Vec::new();
        };
        let change = whole(self.voicing_change);
        let cells = |frame: &[Candidate]| -> Vec<Cell> {
            frame.iter().map(|candidate| self.cell(candidate)).collect()
        };
        let mut before = cells(first);
        let mut scores: Vec<f64> = before.iter().map(|cell| cell.value).collect();
        let mut origins: Vec<Vec<usize>> = Vec::with_capacity(rest.len());
        for frame in rest {
            let here = cells(frame);
            let mut next = Vec::with_capacity(here.len());
            let mut from = Vec::with_capacity(here.len());
            for to in &here {
                let mut best = (f64::NEG_INFINITY, 0);
                for (index, (score, origin)) in scores.iter().zip(&before).enumerate() {
                    let cost = match (origin.voiced, to.voiced) {
                        (false, false) => 0.0,
                        (true, true) => (origin.height - to.height).abs(),
                        _ => change,
                    };
                    if score - cost > best.0 {
                        best = (score - cost, index);
                    }
                }
                next.push(best.0 + to.value);
                from.push(best.1);
            }
            scores = next;
            before = here;
            origins.push(from);
        }
        let mut at = 0;
        for (index, score) in scores.iter().enumerate() {
            if *score > scores[at] {
                at = index;
            }
        }
        let mut path = vec![at];
        for from in origins.iter().rev() {
            at = from[at];
            path.push(at);
        }
        path.reverse();
        path
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

/// Place and height of the top of a parabola through a local maximum and its neighbours.
pub(crate) fn parabola([before, here, after]: [f64; 3], lag: usize) -> (f64, f64) {
    let curvature = (2.0 * here - before - after).max(f64::MIN_POSITIVE);
    let place = lag as f64 + 0.5 * (after - before) / curvature;
    let height = here + 0.125 * (after - before).powi(2) / curvature;
    (place, height)
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
