//! How near the decisions of a pYIN frame are to going the other way.
//!
//! A frame's row of scores follows from its normalised difference by decisions: which lags are troughs,
//! below which thresholds each lies, which is the deepest, which pitch bin it falls into. Two roundings of
//! the same frame may differ in a decision only where its margin, in double precision, is below what single
//! precision leaves open: that is what tells a tie from a defect.

use super::plan::{PyinPlan, THRESHOLDS};

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Whether a lag is a trough.
    Trough,
    /// Below which threshold a trough lies.
    Threshold,
    /// Which trough is the deepest.
    Deepest,
    /// Which pitch bin a trough falls into.
    Bin,
}

/// A decision that rounding may turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CloseDecision {
    /// Which one.
    pub decision: Decision,
    /// At which lag, samples.
    pub lag: usize,
    /// How far it was from going the other way.
    pub margin: f64,
    /// How far rounding may move it.
    pub bound: f64,
}

/// The normalised difference at a lag, and what single precision may be off by.
#[derive(Clone, Copy)]
struct Point {
    value: f64,
    error: f64,
}

/// The decision of frame `frame` of `signal` that is closest to going the other way, where rounding could
/// turn it; `None` where all are clear.
pub(crate) fn closest_decision(
    plan: &PyinPlan,
    signal: &[f32],
    frame: usize,
) -> Option<CloseDecision> {
    let curve = curve(plan, signal, frame);
    let mut close = Closest(None);
    let last = curve.len() - 1;
    let deepest = curve
        .iter()
        .map(|point| point.value)
        .fold(f64::MAX, f64::min);
    let mut troughs = 0;
    for (k, here) in curve.iter().enumerate() {
        let lag = plan.periods.0 + k;
        // A trough above all thresholds counts only where it may be the deepest.
        if here.value > 1.0 + here.error && here.value > deepest + 2.0 * here.error {
            continue;
        }
        let sides = [k.checked_sub(1), (k < last).then_some(k + 1)];
        let rise = |side: usize| curve[side].value - here.value;
        let neighbours = || sides.into_iter().flatten();
        if neighbours().all(|side| rise(side) > -(here.error + curve[side].error)) {
            for side in neighbours() {
                let bound = here.error + curve[side].error;
                close.note(Decision::Trough, lag, rise(side).abs(), bound);
            }
            troughs += 1;
            let hundredths = here.value * THRESHOLDS as f64;
            let margin = (hundredths - hundredths.round()).abs() / THRESHOLDS as f64;
            close.note(Decision::Threshold, lag, margin, here.error);
            if here.value > deepest {
                close.note(
                    Decision::Deepest,
                    lag,
                    here.value - deepest,
                    2.0 * here.error,
                );
            }
            close.bin(plan, lag, &curve, k);
        }
    }
    if troughs == 0 { None } else { close.0 }
}

/// The normalised difference of a frame from the shortest period on. A sum of `n` products in single
/// precision is off by a random walk of `n` roundings, `√n · 2⁻²⁴` of the energy, of which eight times are
/// granted; the difference has it twice, its running mean once more.
fn curve(plan: &PyinPlan, signal: &[f32], frame: usize) -> Vec<Point> {
    let framing = plan.framing;
    let start = (frame * framing.hop) as i64 - framing.left() as i64;
    let x: Vec<f64> = (start..start + framing.length as i64)
        .map(|at| framing.source(at, signal.len()))
        .map(|source| source.map_or(0.0, |at| signal[at].into()))
        .collect();
    let energy: f64 = x.iter().map(|x| x * x).sum();
    let rounding = 8.0 * (x.len() as f64).sqrt() * f64::from(f32::EPSILON) / 2.0;
    let (mut head, mut sum) = (x[0] * x[0], 0.0);
    let mut curve = Vec::with_capacity(plan.periods.1 - plan.periods.0 + 1);
    for k in 1..=plan.periods.1 {
        let correlation: f64 = x.iter().zip(&x[k..]).map(|(a, b)| a * b).sum();
        let mut difference = 2.0 * (energy - correlation);
        if k > 1 {
            head += x[k - 1] * x[k - 1];
            difference -= head;
        }
        sum += difference;
        if k >= plan.periods.0 {
            let mean = sum / k as f64 + f64::from(f32::MIN_POSITIVE);
            let value = difference / mean;
            curve.push(Point {
                value,
                error: rounding * energy * (2.0 + value.abs()) / mean.abs(),
            });
        }
    }
    curve
}

/// The closest of the decisions seen.
struct Closest(Option<CloseDecision>);

impl Closest {
    fn note(&mut self, decision: Decision, lag: usize, margin: f64, bound: f64) {
        let closer = |other: CloseDecision| margin * other.bound < other.margin * bound;
        if margin <= bound && self.0.is_none_or(closer) {
            self.0 = Some(CloseDecision {
                decision,
                lag,
                margin,
                bound,
            });
        }
    }

    /// How near the top of the parabola through a trough lies to the edge of a pitch bin.
    fn bin(&mut self, plan: &PyinPlan, lag: usize, curve: &[Point], k: usize) {
        let (mut shift, mut shift_error) = (0.0, 0.0);
        if k > 0 && k + 1 < curve.len() {
            let [before, here, after] = [curve[k - 1], curve[k], curve[k + 1]];
            let curvature = after.value + before.value - 2.0 * here.value;
            let slope = 0.5 * (after.value - before.value);
            if slope.abs() < curvature.abs() {
                shift = -slope / curvature;
                shift_error = 3.0 * here.error / curvature.abs();
            }
        }
        let period = lag as f64 + shift;
        let place = plan.per_octave * (plan.sample_rate / period / plan.range.low_hz).log2();
        let from_edge = 0.5 - (place - place.round()).abs();
        // The period itself is single precision.
        let error = shift_error.min(1.0) + period * f64::from(f32::EPSILON);
        let bound = plan.per_octave * std::f64::consts::LOG2_E * error / period;
        self.note(Decision::Bin, lag, from_edge, bound);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pitch::pyin::cpu::{Pyin, PyinSettings};
    use crate::pitch::range::PitchRange;
    use warpsmith_signal::{Framing, Padding};

    fn plan() -> PyinPlan {
        let framing = Framing {
            length: 1024,
            hop: 160,
            padding: Padding::CentredZero,
        };
        PyinPlan::new(16_000, framing, PitchRange::VOICE, PyinSettings::default()).unwrap()
    }

    #[test]
    fn one_sample_alone_decides_nothing() {
        // Its normalised difference is 1 at every lag: rounding chooses the trough.
        let close = closest_decision(&plan(), &[0.3], 0).unwrap();
        assert!(close.margin <= 1e-12, "{close:?}");
        assert_eq!(close.decision, Decision::Trough);
    }

    #[test]
    fn a_louder_voice_has_the_same_rows_but_where_a_decision_is_close() {
        let plan = plan();
        let mut seed = 5u64;
        let mut phase = 0.0f64;
        let signal: Vec<f32> = (0..32_000)
            .map(|n| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let noise = (seed >> 40) as f64 / (1u64 << 24) as f64 - 0.5;
                let t = n as f64 / 16_000.0;
                phase += (150.0 + 60.0 * (0.7 * t).sin()) / 16_000.0;
                let angle = std::f64::consts::TAU * phase;
                let tone: f64 = (1..9)
                    .map(|k| (f64::from(k) * angle).sin() / f64::from(k))
                    .sum();
                let loud = if t % 0.6 < 0.35 { 0.3 } else { 0.0005 };
                (loud * tone + 0.002 * noise) as f32
            })
            .collect();
        // Another rounding of the same normalised difference.
        let louder: Vec<f32> = signal.iter().map(|x| x * 1.7).collect();
        let mut pyin = Pyin::new(16_000, plan.framing, plan.range, plan.settings).unwrap();
        let (rows, others) = (pyin.rows(&signal), pyin.rows(&louder));
        let width = plan.bins + 1;
        let mut apart = 0;
        for (frame, (a, b)) in rows.chunks(width).zip(others.chunks(width)).enumerate() {
            if a.iter().zip(b).any(|(a, b)| (a - b).abs() > 1) {
                apart += 1;
                let close = closest_decision(&plan, &signal, frame);
                let bins: Vec<_> = a
                    .iter()
                    .zip(b)
                    .enumerate()
                    .filter(|(_, (a, b))| a != b)
                    .collect();
                assert!(close.is_some(), "frame {frame}: {bins:?}");
            }
        }
        assert!(apart < 30, "{apart} of 201 frames");
    }

    #[test]
    fn silence_has_nothing_to_decide_and_most_frames_of_a_voice_are_clear() {
        let signal: Vec<f32> = (0..16_000)
            .map(|n| {
                let t = n as f64 / 16_000.0;
                let f = std::f64::consts::TAU * (140.0 * t + 3.0 * (5.0 * t).sin());
                ((f.sin() + 0.5 * (2.0 * f).sin() + 0.3 * (3.0 * f).cos()) / 3.0) as f32
            })
            .collect();
        let plan = plan();
        let close = (0..plan.framing.count(signal.len()))
            .filter(|frame| closest_decision(&plan, &signal, *frame).is_some())
            .count();
        assert!(close < 25, "{close} of 101 frames");
        assert_eq!(closest_decision(&plan, &[0.0; 4000], 3), None);
    }
}
