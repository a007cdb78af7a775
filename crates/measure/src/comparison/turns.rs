//! Several things in turns, within a time budget: every round runs each of them in a random order
//! and then in the reverse order, so that drift, neighbours and what ran before hit all alike.
//!
//! Invariants: the first is the base, and every other one gets a verdict against it; one clock
//! decides a verdict, chosen from all samples of the two; looks share one error probability; a
//! failure keeps every sample that was taken before it.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use warpsmith_workload::random::Random;

use super::clock::{Clock, ClockChoice, choose, taken_away};
use super::evaluation::{Evaluation, Verdict, evaluate, rounds_needed};
use super::mann_whitney::{MannWhitney, mann_whitney};
use crate::cpu::steal::CpuTicks;
use crate::measurement::{Measurement, Sample};
use crate::statistics::order::median_of;

/// How long things are run, and what counts as a difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TurnsPlan {
    /// No round begins that would not end within this.
    pub budget: Duration,
    /// Rounds at most.
    pub maximum_rounds: usize,
    /// Differences up to this share do not matter.
    pub margin: f64,
    /// Probability of a false verdict about any of them, over all looks.
    pub alpha: f64,
    /// Decides the orders.
    pub seed: u64,
}

impl Default for TurnsPlan {
    fn default() -> Self {
        Self {
            budget: Duration::from_secs(10),
            maximum_rounds: 4096,
            margin: 0.01,
            alpha: 0.05,
            seed: 1,
        }
    }
}

impl TurnsPlan {
    /// Looks before the last one, as shares of the budget.
    const EARLY: [f64; 5] = [1.0 / 32.0, 1.0 / 16.0, 0.125, 0.25, 0.5];
    /// Fewer rounds are not looked at early.
    const FEWEST: usize = 12;

    /// What one early look spends of the error probability of one verdict; the last look has
    /// what they leave, one half.
    fn alpha_of(&self, last: bool, candidates: usize) -> f64 {
        let share = match last {
            true => 0.5,
            false => 0.5 / Self::EARLY.len() as f64,
        };
        share * self.alpha / candidates.max(1) as f64
    }
}

/// What was concluded about one candidate against the base.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conclusion {
    /// Verdict, ratio and interval.
    pub evaluation: Evaluation,
    /// The clock that decided, and why.
    #[serde(flatten)]
    pub choice: ClockChoice,
    /// ln(candidate/base) of each round by that clock.
    pub log_ratios: Vec<f64>,
    /// The rank test over all samples of that clock, for readers who expect it.
    pub ranks: Option<MannWhitney>,
    /// While undecided: a budget that would decide a difference of the size seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_needed: Option<f64>,
}

/// What came of it.
#[derive(Debug)]
pub struct Turns<E> {
    /// All samples, the base first.
    pub sides: Vec<Measurement>,
    /// One for each side but the first.
    pub conclusions: Vec<Conclusion>,
    /// What ended it before its time.
    pub failure: Option<E>,
    /// How long it took.
    pub elapsed: Duration,
}

/// What a watcher sees after every round.
#[derive(Clone, Copy, Debug)]
pub struct TurnsProgress<'a> {
    /// Rounds so far.
    pub rounds: usize,
    /// Time so far.
    pub elapsed: Duration,
    /// The conclusions of the last look.
    pub conclusions: &'a [Conclusion],
}

/// Where the samples of one round are.
struct Round {
    /// For every side, the range of its samples; empty where it did not take part.
    samples: Vec<std::ops::Range<usize>>,
}

/// Runs `sides` (empty measurements, the base first) in turns until every verdict is clear or the
/// budget is spent. `take` runs one of them once.
pub fn run<E>(
    plan: &TurnsPlan,
    mut sides: Vec<Measurement>,
    take: &mut dyn FnMut(usize) -> Result<Sample, E>,
    watch: &mut dyn FnMut(&TurnsProgress<'_>),
) -> Turns<E> {
    let count = sides.len();
    let candidates = count.saturating_sub(1);
    let mut random = Random::seeded(plan.seed);
    let ticks = CpuTicks::read();
    let begun = Instant::now();
    let mut rounds: Vec<Round> = Vec::new();
    let mut conclusions: Vec<Conclusion> = Vec::new();
    let mut early = TurnsPlan::EARLY.iter().peekable();
    let mut failure = None;
    loop {
        let open: Vec<usize> = (0..count)
            .filter(|side| {
                let decided = side
                    .checked_sub(1)
                    .and_then(|candidate| conclusions.get(candidate))
                    .is_some_and(|conclusion| !is_open(conclusion));
                !decided
            })
            .collect();
        let elapsed = begun.elapsed();
        let next = elapsed.div_f64(rounds.len().max(1) as f64);
        let spent = elapsed >= plan.budget || (!rounds.is_empty() && elapsed + next > plan.budget);
        let last = failure.is_some() || spent || rounds.len() >= plan.maximum_rounds;
        let mut due = false;
        while early
            .next_if(|share| elapsed >= plan.budget.mul_f64(**share))
            .is_some()
        {
            due = rounds.len() >= TurnsPlan::FEWEST;
        }
        if last || due {
            let alpha = plan.alpha_of(last, candidates);
            let steal = ticks
                .zip(CpuTicks::read())
                .and_then(|(early, late)| late.stolen_share_since(&early));
            for side in &mut sides {
                side.conditions.steal_share = steal;
            }
            let per_round = elapsed.as_secs_f64() / rounds.len().max(1) as f64;
            let looked = (1..count).map(|side| match conclusions.get(side - 1) {
                Some(decided) if !is_open(decided) => decided.clone(),
                _ => conclude(
                    &sides[0],
                    &sides[side],
                    side,
                    &rounds,
                    plan,
                    alpha,
                    per_round,
                ),
            });
            conclusions = looked.collect();
        }
        watch(&TurnsProgress {
            rounds: rounds.len(),
            elapsed,
            conclusions: &conclusions,
        });
        let decided = conclusions.len() == candidates && !conclusions.iter().any(is_open);
        if last || (decided && candidates > 0) {
            return Turns {
                sides,
                conclusions,
                failure,
                elapsed,
            };
        }
        match take_round(&mut sides, &open, &mut random, take) {
            Ok(round) => rounds.push(round),
            Err(error) => failure = Some(error),
        }
    }
}

fn is_open(conclusion: &Conclusion) -> bool {
    conclusion.evaluation.verdict == Verdict::Undecided
}

/// Every side of `open` once in a random order, and once in its reverse.
fn take_round<E>(
    sides: &mut [Measurement],
    open: &[usize],
    random: &mut Random,
    take: &mut dyn FnMut(usize) -> Result<Sample, E>,
) -> Result<Round, E> {
    let mut order = open.to_vec();
    random.shuffle(&mut order);
    let starts: Vec<usize> = sides.iter().map(|side| side.seconds.len()).collect();
    for side in open {
        sides[*side].begin_round();
    }
    for side in order.iter().chain(order.iter().rev()) {
        let sample = take(*side)?;
        sides[*side].push(sample);
    }
    let ends = sides.iter().map(|side| side.seconds.len());
    Ok(Round {
        samples: starts.into_iter().zip(ends).map(|(s, e)| s..e).collect(),
    })
}

fn conclude(
    base: &Measurement,
    candidate: &Measurement,
    side: usize,
    rounds: &[Round],
    plan: &TurnsPlan,
    alpha: f64,
    seconds_per_round: f64,
) -> Conclusion {
    let disturbed = taken_away(base).or_else(|| taken_away(candidate));
    let (choice, undisturbed_only) = match choose(base, candidate, disturbed) {
        Ok(choice) => (choice, true),
        Err(reason) => {
            let clock = Clock::Wall;
            (ClockChoice { clock, reason }, false)
        }
    };
    let samples = |of: &Measurement, range: &std::ops::Range<usize>| -> Vec<f64> {
        match choice.clock {
            Clock::Cpu => of.cpu_seconds[range.clone()].to_vec(),
            Clock::Wall => {
                let kept: Vec<f64> = range
                    .clone()
                    .filter(|index| of.preempted.binary_search(index).is_err())
                    .map(|index| of.seconds[index])
                    .collect();
                match undisturbed_only && !kept.is_empty() {
                    true => kept,
                    false => of.seconds[range.clone()].to_vec(),
                }
            }
        }
    };
    let log_ratios: Vec<f64> = rounds
        .iter()
        .filter(|round| !round.samples[0].is_empty() && !round.samples[side].is_empty())
        .map(|round| {
            let of_base = median_of(&samples(base, &round.samples[0]));
            let of_candidate = median_of(&samples(candidate, &round.samples[side]));
            (of_candidate / of_base).ln()
        })
        .collect();
    let evaluation = evaluate(&log_ratios, plan.margin, alpha);
    let ranks = match choice.clock {
        Clock::Wall => mann_whitney(&base.seconds, &candidate.seconds),
        Clock::Cpu => mann_whitney(&base.cpu_seconds, &candidate.cpu_seconds),
    };
    let seconds_needed = (evaluation.verdict == Verdict::Undecided)
        .then(|| rounds_needed(&log_ratios, plan.margin))
        .flatten()
        .map(|needed| needed as f64 * seconds_per_round);
    Conclusion {
        evaluation,
        choice,
        log_ratios,
        ranks,
        seconds_needed,
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// Work on a busy machine: the same CPU time but for noise, and a queue that hides it.
    fn busy(random: &mut Random, cpu: f64) -> Sample {
        let cpu = cpu * (0.03 * random.normal()).exp();
        let queued = 0.08 * random.unit();
        Sample {
            cpu_seconds: Some(cpu),
            waited_seconds: Some(1e-5),
            preempted: true,
            ..Sample::of_seconds(cpu + queued)
        }
    }

    fn plan(rounds: usize) -> TurnsPlan {
        TurnsPlan {
            budget: Duration::from_secs(3600),
            maximum_rounds: rounds,
            ..TurnsPlan::default()
        }
    }

    fn sides(count: usize) -> Vec<Measurement> {
        (0..count)
            .map(|side| Measurement::of_command(&format!("side {side}")))
            .collect()
    }

    #[test]
    fn the_looks_spend_exactly_the_error_probability() {
        let plan = TurnsPlan::default();
        let early = plan.alpha_of(false, 1) * TurnsPlan::EARLY.len() as f64;
        assert!((early + plan.alpha_of(true, 1) - plan.alpha).abs() < 1e-12);
        assert!((plan.alpha_of(true, 3) * 3.0 - plan.alpha_of(true, 1)).abs() < 1e-12);
    }

    #[test]
    fn three_percent_of_cpu_time_is_found_behind_a_queue() {
        let mut random = Random::seeded(1);
        let (mut found, mut false_calls) = (0, 0);
        for seed in 0..60 {
            let turns = run::<Infallible>(
                &TurnsPlan { seed, ..plan(60) },
                sides(3),
                &mut |side| Ok(busy(&mut random, if side == 1 { 0.0103 } else { 0.01 })),
                &mut |_| {},
            );
            let [slow, same] = &turns.conclusions[..] else {
                panic!("{turns:?}");
            };
            assert_eq!(slow.choice.clock, Clock::Cpu);
            found += usize::from(slow.evaluation.verdict == Verdict::Slower);
            let verdict = same.evaluation.verdict;
            false_calls += usize::from(matches!(verdict, Verdict::Slower | Verdict::Faster));
        }
        assert!(found >= 57, "{found} of 60");
        assert_eq!(false_calls, 0);
    }

    #[test]
    fn work_that_sleeps_longer_is_not_called_the_same() {
        let mut random = Random::seeded(2);
        let turns = run::<Infallible>(
            &plan(40),
            sides(2),
            &mut |side| {
                let slept = if side == 1 { 0.040 } else { 0.020 };
                let mut sample = busy(&mut random, 0.01);
                sample.seconds += slept;
                sample.waited_seconds = Some(slept);
                Ok(sample)
            },
            &mut |_| {},
        );
        let conclusion = &turns.conclusions[0];
        assert_eq!(conclusion.choice.clock, Clock::Wall);
        assert_eq!(conclusion.evaluation.verdict, Verdict::Slower);
        assert!(conclusion.choice.reason.contains("waits"), "{conclusion:?}");
    }

    #[test]
    fn every_round_runs_each_side_in_both_orders() {
        let mut order = Vec::new();
        let turns = run::<Infallible>(
            &plan(10),
            sides(3),
            &mut |side| {
                order.push(side);
                Ok(Sample::of_seconds(1.0 + side as f64))
            },
            &mut |_| {},
        );
        for round in order.chunks(6) {
            let mut first = round[..3].to_vec();
            let second: Vec<usize> = round[3..].iter().rev().copied().collect();
            assert_eq!(first, second);
            first.sort_unstable();
            assert_eq!(first, [0, 1, 2]);
        }
        assert_eq!(turns.sides[2].seconds.len(), 20);
    }

    #[test]
    fn a_failure_keeps_what_was_taken_before_it() {
        let mut runs = 0;
        let turns = run::<&str>(
            &plan(100),
            sides(2),
            &mut |side| {
                runs += 1;
                match runs {
                    43 => Err("died"),
                    _ => Ok(Sample::of_seconds(1.0 + 0.5 * side as f64)),
                }
            },
            &mut |_| {},
        );
        assert_eq!(turns.failure, Some("died"));
        let taken: usize = turns.sides.iter().map(|side| side.seconds.len()).sum();
        assert_eq!(taken, 42);
        assert_eq!(turns.conclusions[0].evaluation.rounds, 10);
        assert_eq!(turns.conclusions[0].evaluation.verdict, Verdict::Slower);
    }

    #[test]
    fn a_budget_of_nothing_decides_nothing() {
        let turns = run::<Infallible>(
            &TurnsPlan {
                budget: Duration::ZERO,
                ..TurnsPlan::default()
            },
            sides(2),
            &mut |_| Ok(Sample::of_seconds(1.0)),
            &mut |_| {},
        );
        assert_eq!(turns.conclusions[0].evaluation.verdict, Verdict::Undecided);
    }
}
