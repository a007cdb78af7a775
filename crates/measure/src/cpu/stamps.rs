//! Time stamps around calls, and what they cost.
//!
//! Stamps are chained: the end of one sample is the start of the next, so a stored sample costs
//! one clock reading instead of two. The cost is constant and taken off.
//!
//! Invariant: every call goes through the same indirection in calibration and in measurement, or
//! the cost taken off would be another.

use std::hint::black_box;
use std::time::Instant;

use crate::statistics::order::median_of;

/// Runs `work` `inner` times between each two of `stamps`.
#[inline(never)]
pub(crate) fn run_stamped(work: &mut dyn FnMut(), inner: u64, stamps: &mut [Instant]) {
    let Some((first, rest)) = stamps.split_first_mut() else {
        return;
    };
    // Hides from the optimiser which closure this is.
    let work = black_box(work);
    *first = Instant::now();
    for stamp in rest {
        for _ in 0..inner {
            work();
        }
        *stamp = Instant::now();
    }
}

/// What timing itself costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StampCost {
    /// Seconds that a sample of one empty call reads.
    pub sample: f64,
    /// Seconds that each further call of the same sample adds.
    pub call: f64,
}

impl StampCost {
    /// Measures both; takes a few milliseconds.
    pub fn calibrate() -> Self {
        let median_sample = |inner: u64, groups: usize| {
            let mut medians = Vec::with_capacity(groups);
            let mut stamps = vec![Instant::now(); 257];
            for _ in 0..groups {
                run_stamped(&mut || {}, inner, &mut stamps);
                let samples: Vec<f64> = stamps
                    .windows(2)
                    .map(|pair| (pair[1] - pair[0]).as_secs_f64())
                    .collect();
                medians.push(median_of(&samples));
            }
            // The lower half of the groups: a busy machine only ever adds.
            medians.sort_unstable_by(f64::total_cmp);
            median_of(&medians[..groups.div_ceil(2)])
        };
        median_sample(1, 8);
        let sample = median_sample(1, 32);
        let many = median_sample(257, 8);
        Self {
            sample,
            call: ((many - sample) / 256.0).max(0.0),
        }
    }

    /// What a sample of `inner` empty calls reads.
    pub fn of(&self, inner: u64) -> f64 {
        self.sample + self.call * (inner.saturating_sub(1)) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_between_stamps_is_made() {
        let mut calls = 0;
        let mut stamps = vec![Instant::now(); 5];
        run_stamped(&mut || calls += 1, 3, &mut stamps);
        assert_eq!(calls, 12);
        assert!(stamps.is_sorted());
        run_stamped(&mut || calls += 1, 3, &mut []);
        assert_eq!(calls, 12);
    }

    #[test]
    fn the_cost_is_positive_and_grows_with_the_calls() {
        let cost = StampCost::calibrate();
        assert!(cost.sample > 0.0 && cost.of(1000) >= cost.of(1));
    }
}
