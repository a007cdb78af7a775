//! One figure from several rounds spread over a session: the only way to see a state that outlives
//! a single run (a clock level, a neighbour on the machine).

use serde::{Deserialize, Serialize};

use super::distributions::student_quantile;
use super::order::median_of;
use super::stop_rule::MedianInterval;

/// Which variation set the width of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Variation {
    /// Between samples of one round.
    Within,
    /// Between the medians of rounds.
    Between,
}

/// The median over all rounds with the wider of two intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundsInterval {
    /// The mean of the rounds' medians: the steadier centre of a handful of levels.
    pub median: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// What set the width.
    pub variation: Variation,
    /// Rounds.
    pub rounds: usize,
}

/// Combines samples whose rounds begin at `starts` (the first is 0). With one round the interval
/// comes from within.
pub fn combine(samples: &[f64], starts: &[usize], alpha: f64) -> Option<RoundsInterval> {
    let within = MedianInterval::of(samples, alpha)?;
    let medians: Vec<f64> = starts
        .iter()
        .enumerate()
        .map(|(i, start)| {
            let end = starts.get(i + 1).copied().unwrap_or(samples.len());
            samples.get(*start..end).unwrap_or_default()
        })
        .filter(|round| !round.is_empty())
        .map(median_of)
        .collect();
    let rounds = medians.len();
    let mut combined = RoundsInterval {
        median: within.median,
        low: within.low,
        high: within.high,
        variation: Variation::Within,
        rounds,
    };
    if rounds < 2 {
        return Some(combined);
    }
    let r = rounds as f64;
    let mean = medians.iter().sum::<f64>() / r;
    let variance = medians.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / (r - 1.0);
    let between_error = (variance / r).sqrt();
    let reach = student_quantile(1.0 - 0.5 * alpha, r - 1.0) * between_error;
    let shift = mean - within.median;
    combined.median = mean;
    // Each side by itself: the interval within a round need not be symmetric.
    combined.low = (within.low + shift).min(mean - reach);
    // A handful of rounds that differ widely would reach below zero, where no time is.
    if combined.low < 0.0 && combined.low.is_finite() && samples.iter().all(|s| *s >= 0.0) {
        combined.low = 0.0;
    }
    combined.high = (within.high + shift).max(mean + reach);
    if reach > 0.5 * (within.high - within.low) {
        combined.variation = Variation::Between;
    }
    Some(combined)
}

#[cfg(test)]
mod tests {
    use warpsmith_workload::random::Random;

    use super::*;

    #[test]
    fn a_level_per_round_widens_the_interval_until_it_holds_the_truth() {
        let mut random = Random::seeded(9);
        let (mut pooled, mut combined) = (0, 0);
        for _ in 0..1000 {
            let mut samples = Vec::new();
            for _ in 0..5 {
                let level = 1.0 + 0.01 * random.normal();
                samples.extend((0..60).map(|_| level * (1.0 + 0.002 * random.normal())));
            }
            let starts = [0, 60, 120, 180, 240];
            let interval = combine(&samples, &starts, 0.05).unwrap();
            combined += usize::from(interval.low <= 1.0 && 1.0 <= interval.high);
            let single = MedianInterval::of(&samples[..60], 0.05).unwrap();
            pooled += usize::from(single.low <= 1.0 && 1.0 <= single.high);
        }
        assert!(combined >= 935, "{combined} of 1000");
        assert!(pooled < 300, "a single round should not know: {pooled}");
    }

    #[test]
    fn no_interval_of_times_reaches_below_zero() {
        let mut random = Random::seeded(11);
        let mut clipped = 0;
        for _ in 0..50 {
            // Widely spread, so that three medians say little about their mean.
            let samples: Vec<f64> = (0..60).map(|_| (2.0 * random.normal()).exp()).collect();
            let interval = combine(&samples, &[0, 20, 40], 0.05).unwrap();
            assert!(interval.low >= 0.0, "{interval:?}");
            clipped += usize::from(interval.low == 0.0);
        }
        assert!(clipped > 0);
    }

    #[test]
    fn rounds_that_agree_keep_the_narrow_interval() {
        let mut random = Random::seeded(10);
        let samples: Vec<f64> = (0..900).map(|_| 1.0 + 0.01 * random.normal()).collect();
        let one = combine(&samples, &[0], 0.05).unwrap();
        assert_eq!(one.variation, Variation::Within);
        assert_eq!(combine(&[], &[0], 0.05), None);
    }
}
