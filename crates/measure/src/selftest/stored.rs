//! The comparison of stored results tried on this machine: both sides are taken apart, as the two
//! reports of `report --compare` are.

use std::hint::black_box;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use warpsmith_workload::random::Random;

use super::closures::WORKS;
use super::counts::{VerdictCounts, upper_bound};
use crate::comparison::evaluation::Verdict;
use crate::comparison::stored::{Fitness, StoredComparison, StoredResult, compare_stored};
use crate::cpu::closure::{ClosurePlan, ClosureSampler};
use crate::measurement::Measurement;
use crate::statistics::stop_rule::StopPlan;

/// One false verdict in a hundred, as everywhere.
const ALPHA: f64 = 0.01;

/// What the comparison of stored results is worth on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredSelfTest {
    /// Identical pairs.
    pub identical: VerdictCounts,
    /// Pairs of which B does `effect` more work.
    pub slowed: VerdictCounts,
    /// The share of work that was added.
    pub effect: f64,
    /// Differences up to this share do not matter.
    pub margin: f64,
    /// The median of the smallest slow-downs that would have been called, as a share.
    pub resolves: f64,
    /// Mean time of one comparison.
    pub seconds_per_comparison: f64,
    /// Upper 95 % bound of the rate of false verdicts.
    pub false_rate_bound: f64,
}

/// Takes `pairs` identical and as many slowed results twice, a whole set after the other, and
/// compares the sets; `watch` is told after each result.
pub fn selftest(
    pairs: usize,
    effect: f64,
    margin: f64,
    watch: &mut dyn FnMut(usize),
) -> StoredSelfTest {
    let sampler = ClosureSampler::calibrate();
    let mut random = Random::seeded(11);
    let mut table: Vec<u64> = (0..0x4000).map(|_| random.bits()).collect();
    let lengths: Vec<u64> = (0..2 * pairs)
        .map(|pair| {
            let (_, _, steps) = WORKS[pair / 2 % WORKS.len()];
            steps * 10 + random.below(steps as usize) as u64
        })
        .collect();
    let begun = Instant::now();
    let mut done = 0;
    let mut take = |second: bool| -> Vec<Measurement> {
        let mut results = Vec::new();
        for (pair, steps) in lengths.iter().enumerate() {
            let (name, work, _) = WORKS[pair / 2 % WORKS.len()];
            let steps = match second && pair % 2 == 1 {
                true => (*steps as f64 * (1.0 + effect)).round() as u64,
                false => *steps,
            };
            let plan = ClosurePlan {
                stop: StopPlan {
                    timeout: Duration::from_millis(250),
                    ..StopPlan::default()
                },
                inner: None,
            };
            let mut run = || work(black_box(steps), &mut table);
            results.push(sampler.measure(name, &mut run, &plan, &mut |_| {}));
            done += 1;
            // Every pair has two results.
            watch(done / 2);
        }
        results
    };
    let (first, second) = (take(false), take(true));
    let fitness = Fitness::default();
    let stored = |measurement| StoredResult {
        measurement,
        fitness: &fitness,
    };
    let sides: Vec<_> = first
        .iter()
        .zip(&second)
        .map(|(a, b)| (stored(a), stored(b)))
        .collect();
    let (mut identical, mut slowed) = (VerdictCounts::default(), VerdictCounts::default());
    let mut resolves = Vec::new();
    // One by one: slowed pairs among others would widen what runs are assumed to differ by.
    for (remainder, counts) in [(0, &mut identical), (1, &mut slowed)] {
        let own: Vec<_> = sides.iter().skip(remainder).step_by(2).copied().collect();
        for pair in own {
            match &compare_stored(&[pair], margin, ALPHA)[0] {
                StoredComparison::Judged(judged) => {
                    counts.add(judged.evaluation.verdict);
                    resolves.push(judged.resolves);
                }
                StoredComparison::NotComparable { .. } => counts.add(Verdict::Undecided),
            }
        }
    }
    resolves.sort_unstable_by(f64::total_cmp);
    StoredSelfTest {
        identical,
        slowed,
        effect,
        margin,
        resolves: resolves.get(resolves.len() / 2).copied().unwrap_or(0.0),
        seconds_per_comparison: begun.elapsed().as_secs_f64() / (2 * pairs).max(1) as f64,
        false_rate_bound: upper_bound(identical.slower + identical.faster, identical.comparisons),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_is_counted_once() {
        let result = selftest(2, 0.5, 0.01, &mut |_| {});
        let counted = (result.identical.comparisons, result.slowed.comparisons);
        assert_eq!(counted, (2, 2));
    }
}
