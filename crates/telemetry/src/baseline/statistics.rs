//! Percentiles with intervals.
//!
//! Invariants: percentiles interpolate linearly between order statistics (type 7); a P99 of fewer
//! than 100 samples does not exist; samples are autocorrelated, so intervals come from resampling
//! blocks, never single samples.

use serde::{Deserialize, Serialize};

use super::bootstrap::Resampler;
use super::series::Series;

/// Fewest samples for a P99: below, it is the maximum under another name.
const P99_SAMPLES: usize = 100;

/// A figure with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// What is said about a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// How many samples.
    pub n: usize,
    /// Mean.
    pub mean: Estimate,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Median.
    pub p50: Estimate,
    /// 95th percentile.
    pub p95: Estimate,
    /// 99th percentile; absent below 100 samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99: Option<Estimate>,
}

/// The `p` quantile of sorted values, interpolated linearly; `None` of nothing.
pub fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = last as f64 * p.clamp(0.0, 1.0);
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    Some(sorted[below] + (sorted[above] - sorted[below]) * (position - below as f64))
}

impl Summary {
    /// Summarises a series; `None` of an empty one.
    pub fn of(series: &Series) -> Option<Self> {
        let resampler = Resampler::new(series)?;
        let whole = resampler.whole();
        let resampled = resampler.resample(BOOTSTRAP_SEED);
        let (min, max) = resampler.extremes();
        // An interval that rests on few blocks is wider: it reaches further out among the resamples,
        // and so never beyond what was seen. Stretching it would, to clocks below zero.
        let tail = below_normal(-Z_95 * resampler.widening());
        let mut column = Vec::with_capacity(resampled.len());
        let mut interval = |value: f64, pick: fn(&[f64; 4]) -> f64| {
            column.clear();
            column.extend(resampled.iter().map(pick));
            column.sort_by(f64::total_cmp);
            let edge = |p: f64| quantile(&column, p).unwrap_or(value);
            Estimate {
                value,
                low: edge(tail).min(value),
                high: edge(1.0 - tail).max(value),
            }
        };
        let [mean, p50, p95, p99] = whole;
        Some(Self {
            n: series.len(),
            mean: interval(mean, |figures| figures[0]),
            min,
            max,
            p50: interval(p50, |figures| figures[1]),
            p95: interval(p95, |figures| figures[2]),
            p99: (series.len() >= P99_SAMPLES).then(|| interval(p99, |figures| figures[3])),
        })
    }
}

/// The normal distribution's 97.5 % quantile.
const Z_95: f64 = 1.959_964;

/// The normal distribution below `x`, for negative `x`; within 1e-7 (Abramowitz and Stegun, 26.2.17).
fn below_normal(x: f64) -> f64 {
    let t = 1.0 / (1.0 - 0.231_641_9 * x);
    let polynomial = [
        1.330_274_429,
        -1.821_255_978,
        1.781_477_937,
        -0.356_563_782,
        0.319_381_530,
    ]
    .into_iter()
    .fold(0.0, |sum, factor| (sum + factor) * t);
    (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt() * polynomial
}

/// Fixed, so that the same samples give the same interval.
const BOOTSTRAP_SEED: u64 = 0x57A1_15C5;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::bootstrap::next_random;
    use super::*;

    /// Values of `numpy.quantile(x, p)`, whose default is type 7.
    #[test]
    fn quantiles_are_those_of_type_7() {
        let sorted = [1.0, 2.0, 4.0, 8.0, 16.0];
        for (p, expected) in [
            (0.0, 1.0),
            (0.5, 4.0),
            (0.95, 14.4),
            (0.99, 15.68),
            (1.0, 16.0),
        ] {
            assert!(
                (quantile(&sorted, p).unwrap() - expected).abs() < 1e-12,
                "{p}"
            );
        }
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[3.0], 0.99), Some(3.0));
    }

    #[test]
    fn p99_needs_a_hundred_samples() {
        let series = |n: u32| Series {
            at_ms: (0..n).map(|at| at * 100).collect(),
            values: (0..n).map(f64::from).collect(),
        };
        assert_eq!(Summary::of(&series(99)).unwrap().p99, None);
        let summary = Summary::of(&series(100)).unwrap();
        assert!((summary.p99.unwrap().value - 98.01).abs() < 1e-9);
        assert_eq!((summary.min, summary.max, summary.n), (0.0, 99.0, 100));
        assert_eq!(Summary::of(&series(0)), None);
    }

    #[test]
    fn the_normal_distribution_has_its_tabled_values() {
        for (x, expected) in [(-1.959_964, 0.025), (-3.090_232, 0.001), (-0.674_490, 0.25)] {
            assert!((below_normal(x) - expected).abs() < 1e-6, "{x}");
        }
    }

    proptest! {
        /// Two levels in long stretches give few blocks and wide intervals; a clock has no negative
        /// bound, and no bound lies beyond what was seen.
        #[test]
        fn intervals_stay_inside_of_what_was_seen(
            stretches in prop::collection::vec((1usize..40, -50i32..2000), 1..6)
        ) {
            let values: Vec<f64> = stretches
                .into_iter()
                .flat_map(|(length, level)| std::iter::repeat_n(f64::from(level), length))
                .collect();
            let at_ms = (0..values.len() as u32).map(|at| at * 100).collect();
            let summary = Summary::of(&Series { at_ms, values }).unwrap();
            for estimate in [summary.mean, summary.p50, summary.p95].into_iter().chain(summary.p99) {
                // Means of equal values differ in their last digit.
                let room = 1e-9 * summary.max.abs().max(summary.min.abs());
                prop_assert!(estimate.low >= summary.min - room, "{summary:?}");
                prop_assert!(estimate.high <= summary.max + room, "{summary:?}");
                prop_assert!(estimate.low <= estimate.value && estimate.value <= estimate.high);
            }
        }
    }

    /// A minute of a level with deviations of a time constant of a second, many times over: how often
    /// the interval of the mean holds the level.
    #[test]
    fn intervals_hold_the_truth_about_as_often_as_they_say() {
        let mut random = 7;
        let mut uniform = || next_random(&mut random) as f64 / u64::MAX as f64 * 2.0 - 1.0;
        let keep = (-0.1f64).exp();
        let runs = 200;
        let held = (0..runs).filter(|_| {
            let mut deviation = uniform();
            let values = (0..600).map(|_| {
                deviation = keep * deviation + (1.0 - keep * keep).sqrt() * uniform();
                50.0 + deviation
            });
            let values: Vec<f64> = values.collect();
            let at_ms = (0..600).map(|at| at * 100).collect();
            let mean = Summary::of(&Series { at_ms, values }).unwrap().mean;
            (mean.low..=mean.high).contains(&50.0)
        });
        let share = held.count() as f64 / f64::from(runs);
        assert!((0.88..=0.995).contains(&share), "{share}");
    }

    #[test]
    fn the_interval_holds_its_figure() {
        let series = Series {
            at_ms: (0..600).map(|at| at * 100).collect(),
            values: (0..600).map(|n| f64::from(n * 37 % 101)).collect(),
        };
        let summary = Summary::of(&series).unwrap();
        for estimate in [summary.mean, summary.p50, summary.p95, summary.p99.unwrap()] {
            assert!(estimate.low <= estimate.value && estimate.value <= estimate.high);
            assert!(estimate.high - estimate.low < 60.0);
        }
    }
}
