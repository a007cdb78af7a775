//! The comparison itself: A and B alternate inside short rounds, so that drift, clock levels and
//! neighbours hit both alike, and each round contributes one log-ratio of medians.
//!
//! Rounds are added while the verdict is open; the looks share one error probability, half of it
//! for the first look.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use warpsmith_workload::random::Random;

use super::clock::Clock;
use super::evaluation::{Evaluation, Verdict, evaluate_resolved, rounds_needed};
use super::mann_whitney::{MannWhitney, mann_whitney};
use crate::measurement::{Measurement, Sample};
use crate::statistics::order::median_of;

/// Which of the two is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The base.
    A,
    /// The candidate.
    B,
}

/// How much is run, and what counts as a difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComparisonPlan {
    /// Rounds before the first look.
    pub rounds: usize,
    /// Rounds added while undecided.
    pub extra_rounds: usize,
    /// Rounds at most.
    pub maximum_rounds: usize,
    /// A/B pairs in a round.
    pub pairs: usize,
    /// Differences up to this share do not matter. Identical closures differ by up to 0.44 % for
    /// where their code happens to lie, so less than 1 % needs a reason.
    pub margin: f64,
    /// Probability of a false verdict over all looks.
    pub alpha: f64,
    /// Decides the order inside rounds.
    pub seed: u64,
    /// How long each side may take to settle before the first round.
    pub settle: Duration,
    /// The last look comes when this is spent, whatever rounds are left.
    pub budget: Option<Duration>,
}

impl Default for ComparisonPlan {
    fn default() -> Self {
        Self {
            rounds: 24,
            extra_rounds: 12,
            maximum_rounds: 96,
            pairs: 8,
            margin: 0.01,
            alpha: 0.05,
            seed: 1,
            settle: Duration::from_secs(1),
            budget: None,
        }
    }
}

impl ComparisonPlan {
    fn looks(&self) -> usize {
        let extra = self.maximum_rounds.saturating_sub(self.rounds);
        1 + extra.div_ceil(self.extra_rounds.max(1))
    }

    /// The share of the error probability that look `look` (from 0) spends.
    fn alpha_of(&self, look: usize) -> f64 {
        match (look, self.looks()) {
            (_, 1) => self.alpha,
            (0, _) => 0.5 * self.alpha,
            (_, looks) => 0.5 * self.alpha / (looks - 1) as f64,
        }
    }

    /// The order of one round: as many AB as BA pairs, shuffled.
    fn order(&self, random: &mut Random) -> Vec<Side> {
        let mut pairs: Vec<[Side; 2]> = (0..self.pairs)
            .map(|i| match i % 2 {
                0 => [Side::A, Side::B],
                _ => [Side::B, Side::A],
            })
            .collect();
        random.shuffle(&mut pairs);
        pairs.concat()
    }
}

/// The outcome, with the samples that it rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// What was concluded.
    pub evaluation: Evaluation,
    /// The rank test over all samples, for readers who expect it.
    pub ranks: Option<MannWhitney>,
    /// ln(B/A) of each round.
    pub log_ratios: Vec<f64>,
    /// While undecided: rounds that would decide an effect of the size seen.
    pub rounds_needed: Option<usize>,
    /// The base's samples.
    pub a: Measurement,
    /// The candidate's samples.
    pub b: Measurement,
}

/// Runs paired rounds until the verdict is clear or the rounds are spent.
///
/// `take` runs one side once; `a` and `b` are empty measurements that receive the samples;
/// `watch` sees the evaluation after every look.
pub fn run<E>(
    plan: &ComparisonPlan,
    mut a: Measurement,
    mut b: Measurement,
    take: &mut dyn FnMut(Side) -> Result<Sample, E>,
    watch: &mut dyn FnMut(&Evaluation),
) -> Result<Comparison, E> {
    let mut random = Random::seeded(plan.seed);
    let mut log_ratios = Vec::new();
    let mut goal = plan.rounds;
    let mut look = 0;
    let begun = Instant::now();
    let spent = || plan.budget.is_some_and(|budget| begun.elapsed() >= budget);
    let evaluation = loop {
        while log_ratios.len() < goal && !spent() {
            a.begin_round();
            b.begin_round();
            let (mut from_a, mut from_b) = (Vec::new(), Vec::new());
            for side in plan.order(&mut random) {
                let sample = take(side)?;
                match side {
                    Side::A => {
                        a.push(sample);
                        from_a.push(sample);
                    }
                    Side::B => {
                        b.push(sample);
                        from_b.push(sample);
                    }
                }
            }
            log_ratios.push(log_ratio(&from_a, &from_b).0);
        }
        let evaluation = evaluate_resolved(
            &log_ratios,
            plan.margin,
            plan.alpha_of(look),
            timer_share(&a.seconds).max(timer_share(&b.seconds)),
        );
        watch(&evaluation);
        if evaluation.verdict != Verdict::Undecided || goal >= plan.maximum_rounds || spent() {
            break evaluation;
        }
        look += 1;
        goal = (goal + plan.extra_rounds.max(1)).min(plan.maximum_rounds);
    };
    let undecided = evaluation.verdict == Verdict::Undecided;
    Ok(Comparison {
        ranks: mann_whitney(&a.seconds, &b.seconds),
        rounds_needed: undecided
            .then(|| rounds_needed(&log_ratios, plan.margin))
            .flatten(),
        evaluation,
        log_ratios,
        a,
        b,
    })
}

/// What an event of a GPU resolves, where too few times differ to tell: an H200's.
const USUAL_STEP: f64 = 32e-9;

/// Half a step of the timer as a share of the median, of times that are in steps: half of them or more are equal
/// to another one, which a clock that runs smoothly does not give.
fn timer_share(seconds: &[f64]) -> f64 {
    let mut sorted = seconds.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let gaps = || sorted.windows(2).map(|pair| pair[1] - pair[0]);
    let differing = gaps().filter(|gap| *gap > 0.0);
    if differing.clone().count() >= sorted.len() / 2 {
        return 0.0;
    }
    let step = differing.min_by(f64::total_cmp).unwrap_or(USUAL_STEP);
    let median = median_of(&sorted);
    match median > 0.0 {
        true => 0.5 * step / median,
        false => 0.0,
    }
}

/// ln(median B / median A) of one round of closures, with the clock that it is by: wall time of
/// undisturbed samples where both sides have enough, else CPU time where every sample has one.
pub fn log_ratio(a: &[Sample], b: &[Sample]) -> (f64, Clock) {
    let undisturbed = |samples: &[Sample]| -> Vec<f64> {
        samples
            .iter()
            .filter(|sample| !sample.preempted)
            .map(|sample| sample.seconds)
            .collect()
    };
    let cpu = |samples: &[Sample]| -> Option<Vec<f64>> {
        samples.iter().map(|sample| sample.cpu_seconds).collect()
    };
    let enough = |kept: &[f64], all: &[Sample]| kept.len() * 10 >= all.len() * 3;
    let (kept_a, kept_b) = (undisturbed(a), undisturbed(b));
    let ratio = |of_a: &[f64], of_b: &[f64]| (median_of(of_b) / median_of(of_a)).ln();
    if enough(&kept_a, a) && enough(&kept_b, b) {
        (ratio(&kept_a, &kept_b), Clock::Wall)
    } else if let (Some(cpu_a), Some(cpu_b)) = (cpu(a), cpu(b)) {
        (ratio(&cpu_a, &cpu_b), Clock::Cpu)
    } else {
        let all = |samples: &[Sample]| samples.iter().map(|s| s.seconds).collect::<Vec<_>>();
        (ratio(&all(a), &all(b)), Clock::Wall)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn compare(plan: &ComparisonPlan, take: &mut dyn FnMut(Side) -> f64) -> Comparison {
        let empty = |name| Measurement::imported(name, Vec::new());
        let taken = run::<Infallible>(
            plan,
            empty("a"),
            empty("b"),
            &mut |side| Ok(Sample::of_seconds(take(side))),
            &mut |_| {},
        );
        match taken {
            Ok(comparison) => comparison,
            Err(never) => match never {},
        }
    }

    #[test]
    fn looks_spend_exactly_the_error_probability() {
        let plan = ComparisonPlan::default();
        assert_eq!(plan.looks(), 7);
        let spent: f64 = (0..7).map(|look| plan.alpha_of(look)).sum();
        assert!((spent - plan.alpha).abs() < 1e-12);
    }

    #[test]
    fn a_round_is_balanced() {
        let plan = ComparisonPlan::default();
        let mut random = Random::seeded(5);
        for _ in 0..20 {
            let order = plan.order(&mut random);
            assert_eq!(order.len(), 16);
            let first_a = order.chunks(2).filter(|pair| pair[0] == Side::A).count();
            assert_eq!(first_a, 4);
            assert!(order.chunks(2).all(|pair| pair[0] != pair[1]));
        }
    }

    #[test]
    fn a_clear_difference_ends_at_the_first_look_and_keeps_every_sample() {
        let mut random = Random::seeded(6);
        let comparison = compare(&ComparisonPlan::default(), &mut |side| {
            let base = if side == Side::A { 1.0 } else { 1.05 };
            base * (1.0 + 0.01 * random.normal())
        });
        assert_eq!(comparison.evaluation.verdict, Verdict::Slower);
        assert_eq!(comparison.log_ratios.len(), 24);
        assert_eq!(comparison.b.seconds.len(), 192);
        assert_eq!(comparison.a.round_starts.len(), 24);
        assert!((comparison.evaluation.ratio - 1.05).abs() < 0.005);
    }

    #[test]
    fn an_open_question_uses_every_round_and_says_how_many_more() {
        let mut random = Random::seeded(7);
        let comparison = compare(&ComparisonPlan::default(), &mut |_| {
            (0.5 * random.normal()).exp()
        });
        assert_eq!(comparison.evaluation.verdict, Verdict::Undecided);
        assert_eq!(comparison.log_ratios.len(), 96);
        assert!(comparison.rounds_needed.unwrap() > 96);
    }

    #[test]
    fn a_budget_ends_it_with_what_was_taken() {
        let plan = ComparisonPlan {
            budget: Some(Duration::ZERO),
            ..ComparisonPlan::default()
        };
        let comparison = compare(&plan, &mut |_| 1.0);
        assert_eq!(comparison.log_ratios.len(), 0);
        assert_eq!(comparison.evaluation.verdict, Verdict::Undecided);
    }

    #[test]
    fn drift_that_would_fool_sequential_runs_cancels() {
        let mut random = Random::seeded(8);
        let mut time = 0.0;
        let comparison = compare(&ComparisonPlan::default(), &mut |_| {
            time += 1.0;
            (1.0 + 0.3 * time / 400.0) * (1.0 + 0.01 * random.normal())
        });
        assert_eq!(comparison.evaluation.verdict, Verdict::Same);
    }
    #[test]
    fn a_timer_in_steps_bounds_what_a_comparison_can_say() {
        let short = [224e-9, 224e-9, 192e-9, 224e-9, 256e-9, 224e-9];
        assert!((timer_share(&short) - 16.0 / 224.0).abs() < 1e-9);
        assert!((timer_share(&[3.2e-6; 8]) - 0.005).abs() < 1e-9);
        assert_eq!(timer_share(&[1.0, 1.1, 1.2, 1.3]), 0.0);
        assert_eq!(timer_share(&[0.0; 8]), 0.0);

        let plan = ComparisonPlan::default();
        let comparison = compare(&plan, &mut |_| 224e-9);
        assert_eq!(comparison.evaluation.verdict, Verdict::Undecided);
        let comparison = compare(&plan, &mut |_| 22.4e-6);
        assert_eq!(comparison.evaluation.verdict, Verdict::Same);
    }
}
