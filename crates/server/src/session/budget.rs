//! How many messages a client may still send.

use std::time::Instant;

/// A bucket that fills with time.
#[derive(Debug)]
pub(super) struct Budget {
    per_second: u32,
    left: f64,
    at: Instant,
}

impl Budget {
    pub(super) fn new(per_second: u32) -> Self {
        Self {
            per_second,
            left: 2.0 * f64::from(per_second),
            at: Instant::now(),
        }
    }

    pub(super) fn per_second(&self) -> u32 {
        self.per_second
    }

    /// Whether one more is within the budget at `now`.
    pub(super) fn spend(&mut self, now: Instant) -> bool {
        let rate = f64::from(self.per_second);
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + passed * rate).min(2.0 * rate);
        self.at = now;
        let within = self.left >= 1.0;
        if within {
            self.left -= 1.0;
        }
        within
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burst_is_allowed_and_then_the_rate() {
        let mut budget = Budget::new(10);
        let start = budget.at;
        assert_eq!((0..100).filter(|_| budget.spend(start)).count(), 20);
        let later = start + Duration::from_millis(500);
        assert_eq!((0..100).filter(|_| budget.spend(later)).count(), 5);
    }
}
