//! Verdicts, counted, and what their number proves.

use serde::{Deserialize, Serialize};

use crate::comparison::evaluation::Verdict;
use crate::statistics::distributions::incomplete_beta;

/// How often each verdict came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictCounts {
    /// Comparisons made.
    pub comparisons: usize,
    /// Called slower.
    pub slower: usize,
    /// Called faster.
    pub faster: usize,
    /// Called the same.
    pub same: usize,
    /// Left open.
    pub undecided: usize,
}

impl VerdictCounts {
    pub(super) fn add(&mut self, verdict: Verdict) {
        self.comparisons += 1;
        match verdict {
            Verdict::Slower => self.slower += 1,
            Verdict::Faster => self.faster += 1,
            Verdict::Same => self.same += 1,
            Verdict::Undecided => self.undecided += 1,
        }
    }
}

/// The rate that would give at most `events` of `trials` with probability 0.05 (Clopper–Pearson).
pub fn upper_bound(events: usize, trials: usize) -> f64 {
    if events >= trials {
        return 1.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let rate = 0.5 * (low + high);
        // P(at most `events`) = I_{1−rate}(trials − events, events + 1)
        let chance = incomplete_beta((trials - events) as f64, events as f64 + 1.0, 1.0 - rate);
        if chance > 0.05 {
            low = rate;
        } else {
            high = rate;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_event_in_240_bounds_the_rate_at_1_2_percent() {
        assert!((upper_bound(0, 240) - 0.0124).abs() < 1e-4);
        assert_eq!(upper_bound(3, 3), 1.0);
    }
}
