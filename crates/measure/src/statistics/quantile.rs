//! Quantiles with intervals from binomial order statistics.
//!
//! Invariants: no distribution is assumed; a quantile for which the samples are too few has no
//! point and no two-sided interval, only the bound that the samples do support; correlated samples
//! count as their effective number.

use serde::{Deserialize, Serialize};

use super::distributions::binomial_quantile;

/// What samples say about one quantile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuantileEstimate {
    /// Which quantile, e.g. 0.99.
    pub probability: f64,
    /// The estimate (type 7: linear between order statistics); absent where samples are too few.
    pub point: Option<f64>,
    /// Lower end of the two-sided interval. Alone, it is a one-sided bound: the quantile is at
    /// least this.
    pub low: Option<f64>,
    /// Upper end of the two-sided interval. Alone, the quantile is at most this.
    pub high: Option<f64>,
}

/// The type-7 quantile of sorted values; NaN for none.
pub fn type7(sorted: &[f64], probability: f64) -> f64 {
    if sorted.is_empty() {
        return f64::NAN;
    }
    let position = (sorted.len() - 1) as f64 * probability.clamp(0.0, 1.0);
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (position - below as f64) * (sorted[above] - sorted[below])
}

/// Estimates a quantile from sorted samples that are worth `effective` independent ones, with an
/// interval of the given `confidence`.
///
/// ```
/// use warpsmith_measure::statistics::quantile::estimate;
/// let sorted: Vec<f64> = (0..367).map(f64::from).collect();
/// // One sample short of what a two-sided 95 % interval of P99 needs.
/// let p99 = estimate(&sorted, 367.0, 0.99, 0.95);
/// assert_eq!(p99.point, None);
/// assert!(p99.low.is_some() && p99.high.is_none());
/// ```
pub fn estimate(
    sorted: &[f64],
    effective: f64,
    probability: f64,
    confidence: f64,
) -> QuantileEstimate {
    let n = sorted.len();
    let count = effective.clamp(0.0, n as f64).floor() as u64;
    let mut result = QuantileEstimate {
        probability,
        point: None,
        low: None,
        high: None,
    };
    if count == 0 {
        return result;
    }
    let tail = 0.5 * (1.0 - confidence);
    // Of `count` independent samples, number `lower` (from 1) is at or below the quantile and
    // number `upper` at or above it, each with probability 1 − tail.
    let lower = binomial_quantile(tail, count, probability);
    let upper = binomial_quantile(1.0 - tail, count, probability) + 1;
    // Correlated samples stand closer together than their number says: positions among the
    // effective samples are stretched to positions among all of them.
    let stretch = n as f64 / count as f64;
    if lower >= 1 {
        let index = ((lower as f64 * stretch).floor() as usize).clamp(1, n);
        result.low = Some(sorted[index - 1]);
    }
    if upper <= count {
        let index = ((upper as f64 * stretch).ceil() as usize).clamp(1, n);
        result.high = Some(sorted[index - 1]);
    }
    if result.low.is_some() && result.high.is_some() {
        result.point = Some(type7(sorted, probability));
    }
    result
}

/// The fewest independent samples that give a two-sided interval of `confidence` for a quantile.
pub fn minimum_count(probability: f64, confidence: f64) -> u64 {
    let tail = 0.5 * (1.0 - confidence);
    // The extreme samples must straddle the quantile: pⁿ ≤ tail and (1−p)ⁿ ≤ tail.
    let needed = |p: f64| (tail.ln() / p.ln()).ceil().max(1.0) as u64;
    needed(probability).max(needed(1.0 - probability))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn minimum_counts_are_the_published_ones() {
        assert_eq!(minimum_count(0.95, 0.95), 72);
        assert_eq!(minimum_count(0.99, 0.95), 368);
        assert_eq!(minimum_count(0.999, 0.95), 3688);
        assert_eq!(minimum_count(0.5, 0.95), 6);
    }

    #[test]
    fn a_quantile_appears_exactly_at_its_minimum_count() {
        for (p, needed) in [(0.95, 72usize), (0.99, 368), (0.999, 3688), (0.05, 72)] {
            let sorted: Vec<f64> = (0..needed).map(|i| i as f64).collect();
            assert!(estimate(&sorted, needed as f64, p, 0.95).point.is_some());
            let fewer = &sorted[1..];
            assert_eq!(estimate(fewer, fewer.len() as f64, p, 0.95).point, None);
        }
    }

    #[test]
    fn correlation_refuses_what_the_raw_count_would_allow() {
        let sorted: Vec<f64> = (0..1000).map(f64::from).collect();
        assert!(estimate(&sorted, 1000.0, 0.99, 0.95).point.is_some());
        assert!(estimate(&sorted, 200.0, 0.99, 0.95).point.is_none());
        let wide = estimate(&sorted, 100.0, 0.5, 0.95);
        let narrow = estimate(&sorted, 1000.0, 0.5, 0.95);
        assert!(wide.low < narrow.low && wide.high > narrow.high);
    }

    #[test]
    fn type7_is_linear_between_order_statistics() {
        assert_eq!(type7(&[1.0, 2.0, 3.0, 4.0], 0.5), 2.5);
        assert_eq!(type7(&[10.0, 20.0], 0.25), 12.5);
        assert_eq!(type7(&[7.0], 0.99), 7.0);
    }

    proptest! {
        #[test]
        fn the_point_lies_inside_its_interval(n in 1usize..3000, p in 0.001f64..0.999, share in 0.01f64..1.0) {
            let sorted: Vec<f64> = (0..n).map(|i| (i as f64).powi(2)).collect();
            let q = estimate(&sorted, n as f64 * share, p, 0.95);
            if let (Some(point), Some(low), Some(high)) = (q.point, q.low, q.high) {
                prop_assert!(low <= point && point <= high, "{:?}", q);
            }
        }
    }
}
