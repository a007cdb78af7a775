//! The comparison of closures tried on this machine.

use std::convert::Infallible;
use std::hint::black_box;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use warpsmith_workload::random::Random;

use super::counts::{VerdictCounts, upper_bound};
use crate::comparison::paired_rounds::{ComparisonPlan, Side, run};
use crate::cpu::closure::ClosureSampler;
use crate::measurement::{Conditions, Measurement, SampleMode};
use crate::statistics::stop_rule::StopReason;

/// What the comparison is worth on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SelfTest {
    /// Identical pairs.
    pub identical: VerdictCounts,
    /// Pairs of which B does `effect` more work.
    pub slowed: VerdictCounts,
    /// The share of work that was added.
    pub effect: f64,
    /// The margin that verdicts were compared with.
    pub margin: f64,
    /// Share of samples that the scheduler disturbed.
    pub preempted_share: f64,
    /// Mean time of one comparison.
    pub seconds_per_comparison: f64,
    /// Upper 95 % bound of the rate of false verdicts.
    pub false_rate_bound: f64,
    /// What timing costs here per stored sample.
    pub sample_cost_seconds: f64,
}

/// Work whose length is set in steps; one address for both sides, or the place of the code in
/// memory would be compared.
pub(super) type Work = fn(u64, &mut [u64]);

pub(super) const WORKS: [(&str, Work, u64); 4] = [
    ("integer chain", integer_chain, 400),
    ("float chain", float_chain, 300),
    ("pointer chase", pointer_chase, 300),
    ("table update", table_update, 400),
];

#[inline(never)]
fn integer_chain(steps: u64, table: &mut [u64]) {
    let mut x = table[0] | 1;
    for _ in 0..steps {
        x = x.wrapping_mul(6_364_136_223_846_793_005).rotate_left(17);
    }
    table[0] = black_box(x);
}

#[inline(never)]
fn float_chain(steps: u64, table: &mut [u64]) {
    let mut x = 1.0 + (table[1] & 7) as f64 * 1e-3;
    for _ in 0..steps {
        x = (x * 1.000_000_1 + 1e-7).min(2.0);
    }
    table[1] = black_box(x).to_bits();
}

#[inline(never)]
fn pointer_chase(steps: u64, table: &mut [u64]) {
    let mut at = 0usize;
    for _ in 0..steps {
        at = ((table[at] >> 7) as usize ^ at.wrapping_mul(31)) & 0x3fff;
    }
    black_box(at);
}

#[inline(never)]
fn table_update(steps: u64, table: &mut [u64]) {
    let mut at = 1u64;
    for _ in 0..steps {
        at = at.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(3);
        let place = (at >> 50) as usize;
        table[place] = table[place].wrapping_add(at);
    }
}

/// Makes `pairs` identical and as many slowed comparisons; `watch` is told after each.
pub fn selftest(
    pairs: usize,
    effect: f64,
    plan: &ComparisonPlan,
    watch: &mut dyn FnMut(usize),
) -> SelfTest {
    let sampler = ClosureSampler::calibrate();
    let mut random = Random::seeded(plan.seed);
    let mut table: Vec<u64> = (0..0x4000).map(|_| random.bits()).collect();
    let (mut identical, mut slowed) = (VerdictCounts::default(), VerdictCounts::default());
    let (mut samples, mut preempted) = (0, 0);
    let begun = Instant::now();
    for pair in 0..2 * pairs {
        let slow = pair % 2 == 1;
        let (name, work, steps) = WORKS[pair / 2 % WORKS.len()];
        // Lengths differ from pair to pair, so that no alignment of one length decides.
        let steps = steps * 10 + random.below(steps as usize) as u64;
        let slower_steps = match slow {
            true => (steps as f64 * (1.0 + effect)).round() as u64,
            false => steps,
        };
        let inner = sampler.inner_count(&mut || work(black_box(steps), &mut table));
        let empty = |side: &str| {
            Measurement::empty(
                format!("{name} {side}"),
                Conditions {
                    mode: SampleMode::CpuClosure,
                    inner_count: inner,
                    overhead_seconds: sampler.cost().of(inner),
                    stop: StopReason::CountReached,
                    steal_share: None,
                    device: "cpu".to_owned(),
                },
            )
        };
        let taken = run::<Infallible>(
            &ComparisonPlan {
                seed: random.bits(),
                ..*plan
            },
            empty("A"),
            empty("B"),
            &mut |side| {
                let steps = match side {
                    Side::A => steps,
                    Side::B => slower_steps,
                };
                Ok(sampler.sample(&mut || work(black_box(steps), &mut table), inner))
            },
            &mut |_| {},
        );
        let Ok(comparison) = taken;
        for side in [&comparison.a, &comparison.b] {
            samples += side.seconds.len();
            preempted += side.preempted.len();
        }
        let counts = if slow { &mut slowed } else { &mut identical };
        counts.add(comparison.evaluation.verdict);
        watch(pair + 1);
    }
    SelfTest {
        identical,
        slowed,
        effect,
        margin: plan.margin,
        preempted_share: preempted as f64 / samples.max(1) as f64,
        seconds_per_comparison: begun.elapsed().as_secs_f64() / (2 * pairs).max(1) as f64,
        false_rate_bound: upper_bound(identical.slower + identical.faster, identical.comparisons),
        sample_cost_seconds: sampler.cost().sample,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_comparison_is_counted_once() {
        let plan = ComparisonPlan {
            rounds: 6,
            maximum_rounds: 6,
            pairs: 2,
            ..ComparisonPlan::default()
        };
        let mut told = 0;
        let result = selftest(4, 0.5, &plan, &mut |_| told += 1);
        assert_eq!(told, 8);
        assert_eq!(
            (result.identical.comparisons, result.slowed.comparisons),
            (4, 4)
        );
        let VerdictCounts {
            slower,
            faster,
            same,
            undecided,
            ..
        } = result.slowed;
        assert_eq!(slower + faster + same + undecided, 4);
    }
}
