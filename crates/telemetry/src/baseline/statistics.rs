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
        // Clocks, watts and bytes are never negative, and widening does not know that.
        let least = if min >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
        let mut column = Vec::with_capacity(resampled.len());
        let mut interval = |value: f64, pick: fn(&[f64; 4]) -> f64| {
            column.clear();
            column.extend(resampled.iter().map(pick));
            column.sort_by(f64::total_cmp);
            let widen = resampler.widening();
            // Percentile interval, widened for the few blocks that it rests on.
            let edge = |p: f64| {
                let at = quantile(&column, p).unwrap_or(value);
                value + (at - value) * widen
            };
            Estimate {
                value,
                low: edge(0.025).min(value).max(least),
                high: edge(0.975).max(value),
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

/// Fixed, so that the same samples give the same interval.
const BOOTSTRAP_SEED: u64 = 0x57A1_15C5;

#[cfg(test)]
mod tests {
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
    fn a_clock_that_was_low_for_a_moment_has_no_negative_bound() {
        // Two levels in long stretches: few blocks, and wide intervals.
        let series = Series {
            at_ms: (0..60).map(|at| at * 100).collect(),
            values: (0..60)
                .map(|n| if n < 30 { 120.0 } else { 1980.0 })
                .collect(),
        };
        let summary = Summary::of(&series).unwrap();
        for estimate in [summary.mean, summary.p50, summary.p95] {
            assert!(estimate.low >= 0.0, "{estimate:?}");
        }
        // What can be negative keeps its bounds.
        let below = Series {
            values: series.values.iter().map(|value| value - 1000.0).collect(),
            ..series
        };
        assert!(Summary::of(&below).unwrap().p50.low < 0.0);
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
