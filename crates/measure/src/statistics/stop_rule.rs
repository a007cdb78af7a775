//! When enough samples have been taken: `ci-median`.
//!
//! Sampling stops when the interval of the median is narrow enough, not when the samples are: the
//! spread of single samples says nothing about the error of the answer. Looking often would stop
//! on luck, so look k spends only α/(k(k+1)) of the error probability; correlated samples count as
//! their effective number, and their correlation must have been seen 40 times over.
//!
//! Known limit: a state that outlives the run (a clock level, say) cannot be seen inside it. Spread
//! runs over rounds for that; see [`super::rounds`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::correlation::integrated_time;
use super::distributions::normal_quantile;
use super::order::{Ordered, median_of_sorted};

/// What to aim for, and what to give up after.
#[derive(Clone, Copy, Debug)]
pub struct StopPlan {
    /// Half-width of the interval as a share of the median.
    pub target: f64,
    /// Probability that the interval misses.
    pub alpha: f64,
    /// The first look comes at this many samples…
    pub minimum_count: usize,
    /// …and not before this much time.
    pub minimum_time: Duration,
    /// Sampling ends here with the interval reached.
    pub timeout: Duration,
    /// Sampling ends at this many samples.
    pub maximum_count: usize,
    /// Sampling ends when this becomes true.
    pub interrupted: Option<&'static AtomicBool>,
}

impl StopPlan {
    /// Whether somebody wants it to end.
    pub fn was_interrupted(&self) -> bool {
        let flag = self.interrupted;
        flag.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

impl Default for StopPlan {
    fn default() -> Self {
        Self {
            target: 0.005,
            alpha: 0.05,
            minimum_count: 64,
            minimum_time: Duration::from_millis(100),
            timeout: Duration::from_secs(15),
            maximum_count: 10_000_000,
            interrupted: None,
        }
    }
}

/// Why sampling stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// The interval of the median is as narrow as asked.
    IntervalReached,
    /// The time was spent first.
    TimedOut,
    /// The number of samples was reached first, or was all that was requested.
    CountReached,
    /// The user ended it.
    Interrupted,
    /// The samples came from elsewhere.
    Imported,
}

/// The median with an interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MedianInterval {
    /// The middle sample.
    pub median: f64,
    /// Lower end; infinite where the samples are too few.
    pub low: f64,
    /// Upper end; infinite where the samples are too few.
    pub high: f64,
    /// Integrated autocorrelation time of the ranks.
    pub correlation_time: f64,
    /// Samples that it rests on.
    pub count: usize,
}

impl MedianInterval {
    /// The interval that misses the true median with probability `alpha`; `None` without samples.
    pub fn of(samples: &[f64], alpha: f64) -> Option<Self> {
        let ordered = Ordered::new(samples).filter(|_| !samples.is_empty())?;
        let sorted = ordered.sorted();
        let n = samples.len() as f64;
        let correlation_time = integrated_time(ordered.ranks());
        let reach = normal_quantile(1.0 - 0.5 * alpha) * (n * correlation_time).sqrt() / 2.0;
        let (low, high) = (n / 2.0 - reach, n / 2.0 + reach);
        // Positions count from 1.
        let low = match low.floor() {
            position if position >= 1.0 => sorted[position as usize - 1],
            _ => f64::NEG_INFINITY,
        };
        let high = match high.ceil() + 1.0 {
            position if position <= n => sorted[position as usize - 1],
            _ => f64::INFINITY,
        };
        Some(Self {
            median: median_of_sorted(sorted),
            low,
            high,
            correlation_time,
            count: samples.len(),
        })
    }

    /// Half the width as a share of the median.
    pub fn relative_half_width(&self) -> f64 {
        0.5 * (self.high - self.low) / self.median.abs()
    }
}

/// The rule at work on one growing set of samples.
#[derive(Clone, Debug)]
pub struct MedianStop {
    plan: StopPlan,
    looks: u32,
    next_look: Option<usize>,
    interval: Option<MedianInterval>,
}

impl MedianStop {
    /// Growth of the sample count between looks.
    const GROWTH: f64 = 1.3;
    /// The correlation time must fit into the run this often before it is believed.
    const CORRELATION_TIMES: f64 = 40.0;

    /// The rule, before any look.
    pub fn new(plan: StopPlan) -> Self {
        Self {
            plan,
            looks: 0,
            next_look: None,
            interval: None,
        }
    }

    /// Whether [`Self::look`] has something to decide; cheap enough to ask after every sample.
    pub fn is_due(&self, count: usize, elapsed: Duration) -> bool {
        let look = match self.next_look {
            None => count >= self.plan.minimum_count && elapsed >= self.plan.minimum_time,
            Some(at) => count >= at,
        };
        look || elapsed >= self.plan.timeout
            || count >= self.plan.maximum_count
            || self.plan.was_interrupted()
    }

    /// Looks at all samples taken so far, and says whether and why to stop.
    pub fn look(&mut self, samples: &[f64], elapsed: Duration) -> Option<StopReason> {
        self.looks += 1;
        let k = f64::from(self.looks);
        let interval = MedianInterval::of(samples, self.plan.alpha / (k * (k + 1.0)));
        self.interval = interval;
        let grown = (samples.len() as f64 * Self::GROWTH).ceil() as usize;
        self.next_look = Some(grown.max(samples.len() + 1));
        let reached = interval.is_some_and(|interval| {
            interval.relative_half_width() <= self.plan.target
                && interval.count as f64 >= Self::CORRELATION_TIMES * interval.correlation_time
        });
        if reached {
            Some(StopReason::IntervalReached)
        } else if self.plan.was_interrupted() {
            Some(StopReason::Interrupted)
        } else if elapsed >= self.plan.timeout {
            Some(StopReason::TimedOut)
        } else if samples.len() >= self.plan.maximum_count {
            Some(StopReason::CountReached)
        } else {
            None
        }
    }

    /// The interval of the last look.
    pub fn interval(&self) -> Option<&MedianInterval> {
        self.interval.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use warpsmith_workload::random::Random;

    use super::*;

    #[test]
    fn looks_grow_and_their_error_probabilities_sum_to_alpha() {
        let total: f64 = (1..100_000)
            .map(|k| 0.05 / (f64::from(k) * f64::from(k + 1)))
            .sum();
        assert!(total <= 0.05);
        let mut stop = MedianStop::new(StopPlan {
            target: 0.0,
            ..StopPlan::default()
        });
        let mut random = Random::seeded(1);
        let samples: Vec<f64> = (0..200).map(|_| random.unit()).collect();
        let late = Duration::from_millis(100);
        assert!(!stop.is_due(63, late) && stop.is_due(64, late));
        assert!(!stop.is_due(64, Duration::from_millis(99)));
        assert_eq!(stop.look(&samples[..64], late), None);
        assert!(!stop.is_due(83, late) && stop.is_due(84, late));
    }

    #[test]
    fn an_interruption_ends_it_at_the_next_sample() {
        static FLAG: AtomicBool = AtomicBool::new(false);
        let mut stop = MedianStop::new(StopPlan {
            interrupted: Some(&FLAG),
            ..StopPlan::default()
        });
        let early = Duration::from_millis(1);
        assert!(!stop.is_due(2, early));
        FLAG.store(true, Ordering::Relaxed);
        assert!(stop.is_due(2, early));
        assert_eq!(stop.look(&[1.0, 2.0], early), Some(StopReason::Interrupted));
    }

    #[test]
    fn equal_samples_stop_at_the_first_look() {
        let mut stop = MedianStop::new(StopPlan::default());
        let reason = stop.look(&[1.0; 64], Duration::from_millis(100));
        assert_eq!(reason, Some(StopReason::IntervalReached));
    }

    #[test]
    fn a_timeout_keeps_the_interval_reached() {
        let mut stop = MedianStop::new(StopPlan::default());
        let samples = [1.0, 2.0, 1.5];
        assert!(stop.is_due(3, Duration::from_secs(15)));
        let reason = stop.look(&samples, Duration::from_secs(15));
        assert_eq!(reason, Some(StopReason::TimedOut));
        assert_eq!(stop.interval().unwrap().high, f64::INFINITY);
    }
}
