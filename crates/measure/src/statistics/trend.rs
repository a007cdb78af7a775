//! Whether samples drift while they are taken: Mann–Kendall on block medians.
//!
//! Block medians bound the work (pairs grow with the square) and damp spikes; correlation between
//! the blocks widens the variance of the statistic instead of passing for a trend.

use serde::{Deserialize, Serialize};

use super::correlation::integrated_time;
use super::distributions::normal_cdf;
use super::order::median_of;

/// A slow change over the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// Change from the first to the last sample by the Sen slope, as a share of the median.
    pub relative_change: f64,
    /// Probability of a trend at least this clear where there is none (two-sided).
    pub p_value: f64,
}

/// The most blocks that pairs are formed of.
const BLOCKS: usize = 256;

/// Looks for drift over samples in the order taken; `None` below 20 samples.
pub fn drift(samples: &[f64]) -> Option<Drift> {
    if samples.len() < 20 {
        return None;
    }
    let width = samples.len().div_ceil(BLOCKS);
    let blocks: Vec<f64> = samples.chunks_exact(width).map(median_of).collect();
    let n = blocks.len() as f64;
    let mut slopes = Vec::with_capacity(blocks.len() * (blocks.len() - 1) / 2);
    let mut score = 0.0f64;
    for (i, earlier) in blocks.iter().enumerate() {
        for (gap, later) in blocks[i + 1..].iter().enumerate() {
            let rise = later - earlier;
            score += if rise > 0.0 {
                1.0
            } else if rise < 0.0 {
                -1.0
            } else {
                0.0
            };
            slopes.push(rise / (gap + 1) as f64);
        }
    }
    let (_, slope, _) = {
        let middle = slopes.len() / 2;
        slopes.select_nth_unstable_by(middle, f64::total_cmp)
    };
    let slope = *slope;
    let residuals: Vec<f64> = blocks
        .iter()
        .enumerate()
        .map(|(i, block)| block - slope * i as f64)
        .collect();
    let variance = n * (n - 1.0) * (2.0 * n + 5.0) / 18.0 * integrated_time(&residuals);
    // One is taken off the score: its distribution is on whole numbers.
    let z = (score.abs() - 1.0).max(0.0) / variance.sqrt();
    let median = median_of(&blocks);
    Some(Drift {
        relative_change: if median == 0.0 {
            0.0
        } else {
            slope * (n - 1.0) / median
        },
        p_value: (2.0 * normal_cdf(-z)).min(1.0),
    })
}

#[cfg(test)]
mod tests {
    use warpsmith_workload::random::Random;

    use super::*;

    #[test]
    fn a_drift_of_three_percent_is_seen_and_measured() {
        let mut random = Random::seeded(4);
        let samples: Vec<f64> = (0..5000)
            .map(|i| 10.0 * (1.0 + 0.03 * f64::from(i) / 5000.0) * (1.0 + 0.01 * random.normal()))
            .collect();
        let drift = drift(&samples).unwrap();
        assert!(drift.p_value < 1e-6, "{drift:?}");
        assert!((drift.relative_change - 0.03).abs() < 0.005, "{drift:?}");
    }

    #[test]
    fn noise_without_drift_is_rarely_called_drift() {
        let mut random = Random::seeded(5);
        let called = (0..200)
            .filter(|_| {
                let samples: Vec<f64> = (0..400).map(|_| 1.0 + 0.02 * random.normal()).collect();
                drift(&samples).unwrap().p_value < 0.01
            })
            .count();
        assert!(called <= 8, "{called} of 200");
    }
}
