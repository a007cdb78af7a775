//! The figures of a set of samples, derived in one pass over their order.
//!
//! Invariant: no sample is deleted; robust figures stand beside the mean, and outliers are counted
//! in Tukey's classes.

use serde::{Deserialize, Serialize};

use super::correlation::{integrated_time, lag_one};
use super::modes::{Mode, modes};
use super::order::{Ordered, mad_about, median_of_sorted};
use super::quantile::{QuantileEstimate, estimate, type7};
use super::trend::{Drift, drift};

/// The quantiles that a summary estimates.
pub const QUANTILES: [f64; 8] = [0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999];

/// Samples outside Tukey's fences: 1.5 (mild) and 3 (severe) interquartile ranges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outliers {
    /// Below the outer fence.
    pub low_severe: usize,
    /// Between the lower fences.
    pub low_mild: usize,
    /// Between the upper fences.
    pub high_mild: usize,
    /// Above the outer fence.
    pub high_severe: usize,
}

/// Everything that is said about a set of samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Samples.
    pub count: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// The middle sample.
    pub median: f64,
    /// Standard deviation with n − 1; 0 for one sample.
    pub standard_deviation: f64,
    /// Median absolute deviation, unscaled.
    pub mad: f64,
    /// Standard deviation as a share of the mean.
    pub variation: f64,
    /// Smallest sample.
    pub min: f64,
    /// Largest sample.
    pub max: f64,
    /// [`QUANTILES`] with 95 % intervals, refused where the samples are too few.
    pub quantiles: Vec<QuantileEstimate>,
    /// Integrated autocorrelation time in samples, on ranks.
    pub correlation_time: f64,
    /// `count / correlation_time`.
    pub effective_count: f64,
    /// Correlation of neighbours, on ranks.
    pub lag_one: f64,
    /// Slow change over the run, where there are enough samples to look.
    pub drift: Option<Drift>,
    /// Samples outside Tukey's fences.
    pub outliers: Outliers,
    /// Humps of the distribution.
    pub modes: Vec<Mode>,
    /// Third standardised moment; 0 where the samples are equal.
    pub skewness: f64,
}

impl Summary {
    /// Summarises samples in the order taken; `None` for no samples or one that is not finite.
    pub fn of(samples: &[f64]) -> Option<Self> {
        if samples.is_empty() {
            return None;
        }
        let ordered = Ordered::new(samples)?;
        let sorted = ordered.sorted();
        let n = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / n;
        let (mut second, mut third) = (0.0, 0.0);
        for sample in samples {
            let deviation = sample - mean;
            second += deviation * deviation;
            third += deviation * deviation * deviation;
        }
        let standard_deviation = if samples.len() > 1 {
            (second / (n - 1.0)).sqrt()
        } else {
            0.0
        };
        let skewness = if second > 0.0 {
            third / n / (second / n).powf(1.5)
        } else {
            0.0
        };
        let median = median_of_sorted(sorted);
        let correlation_time = integrated_time(ordered.ranks());
        let effective_count = n / correlation_time;
        Some(Self {
            count: samples.len(),
            mean,
            median,
            standard_deviation,
            mad: mad_of_sorted(sorted, median),
            variation: standard_deviation / mean,
            min: sorted[0],
            max: sorted[sorted.len() - 1],
            quantiles: QUANTILES
                .iter()
                .map(|p| estimate(sorted, effective_count, *p, 0.95))
                .collect(),
            correlation_time,
            effective_count,
            lag_one: lag_one(ordered.ranks()),
            drift: drift(samples),
            outliers: outliers(sorted),
            modes: modes(sorted),
            skewness,
        })
    }

    /// The estimate of one of [`QUANTILES`].
    pub fn quantile(&self, probability: f64) -> Option<&QuantileEstimate> {
        self.quantiles
            .iter()
            .find(|quantile| quantile.probability == probability)
    }
}

/// The median absolute deviation of sorted values by walking outwards from the median.
fn mad_of_sorted(sorted: &[f64], median: f64) -> f64 {
    if sorted.len() < 3 {
        return mad_about(sorted, median);
    }
    let mut right = sorted.partition_point(|value| *value < median);
    let mut left = right;
    let wanted = sorted.len() / 2 + 1;
    let (mut last, mut before) = (0.0, 0.0);
    for _ in 0..wanted {
        let to_left = left.checked_sub(1).map(|i| median - sorted[i]);
        let to_right = sorted.get(right).map(|value| value - median);
        before = last;
        last = match (to_left, to_right) {
            (Some(l), Some(r)) if l < r => {
                left -= 1;
                l
            }
            (_, Some(r)) => {
                right += 1;
                r
            }
            (Some(l), None) => {
                left -= 1;
                l
            }
            (None, None) => last,
        };
    }
    if sorted.len() % 2 == 1 {
        last
    } else {
        0.5 * (last + before)
    }
}

fn outliers(sorted: &[f64]) -> Outliers {
    let (q1, q3) = (type7(sorted, 0.25), type7(sorted, 0.75));
    let iqr = q3 - q1;
    let below = |fence: f64| sorted.partition_point(|value| *value < fence);
    let above = |fence: f64| sorted.len() - sorted.partition_point(|value| *value <= fence);
    let (low_severe, high_severe) = (below(q1 - 3.0 * iqr), above(q3 + 3.0 * iqr));
    Outliers {
        low_severe,
        low_mild: below(q1 - 1.5 * iqr) - low_severe,
        high_mild: above(q3 + 1.5 * iqr) - high_severe,
        high_severe,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn figures_of_a_small_known_set() {
        let summary = Summary::of(&[5.0, 4.0, 9.0, 2.0, 7.0, 4.0, 5.0, 4.0]).unwrap();
        assert_eq!(summary.mean, 5.0);
        assert_eq!(summary.median, 4.5);
        assert!((summary.standard_deviation - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!(summary.mad, 0.5);
        assert_eq!((summary.min, summary.max), (2.0, 9.0));
        // Eight samples say nothing about P95.
        assert_eq!(summary.quantile(0.95).unwrap().point, None);
        assert!(summary.quantile(0.5).unwrap().point.is_some());
    }

    #[test]
    fn outliers_are_counted_and_kept() {
        let mut samples: Vec<f64> = (0..101).map(|i| 10.0 + f64::from(i) / 100.0).collect();
        samples.extend([12.0, 100.0, 0.5]);
        let summary = Summary::of(&samples).unwrap();
        assert_eq!(summary.count, 104);
        assert_eq!(
            summary.outliers,
            Outliers {
                low_severe: 1,
                low_mild: 0,
                high_mild: 1,
                high_severe: 1
            }
        );
        assert_eq!(summary.max, 100.0);
    }

    #[test]
    fn nothing_and_nonsense_have_no_summary() {
        assert!(Summary::of(&[]).is_none());
        assert!(Summary::of(&[1.0, f64::NAN]).is_none());
        let one = Summary::of(&[3.0]).unwrap();
        assert_eq!(
            (one.median, one.standard_deviation, one.skewness),
            (3.0, 0.0, 0.0)
        );
    }

    proptest! {
        #[test]
        fn the_walking_mad_is_the_sorted_mad(mut values in prop::collection::vec(-1e3f64..1e3, 1..200)) {
            values.sort_unstable_by(f64::total_cmp);
            let median = median_of_sorted(&values);
            let expected = mad_about(&values, median);
            prop_assert!((mad_of_sorted(&values, median) - expected).abs() < 1e-9);
        }
    }
}
