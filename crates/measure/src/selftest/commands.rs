//! The comparison of commands tried on this machine: loops of the shell that take 2 to 15 ms.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use warpsmith_workload::random::Random;

use super::counts::{VerdictCounts, upper_bound};
use crate::command::contest::{Contestant, contest};
use crate::command::{CommandError, CommandTarget};
use crate::comparison::clock::Clock;
use crate::comparison::turns::TurnsPlan;
use crate::statistics::order::median_of;

/// What the comparison of commands is worth on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandSelfTest {
    /// Identical pairs.
    pub identical: VerdictCounts,
    /// Pairs of which B takes `effect` more CPU time.
    pub slowed: VerdictCounts,
    /// The share of work that was added.
    pub effect: f64,
    /// Differences up to this share do not matter.
    pub margin: f64,
    /// Verdicts that CPU time decided.
    pub by_cpu_time: usize,
    /// Share of runs during which others had the core.
    pub preempted_share: f64,
    /// Mean time of one comparison.
    pub seconds_per_comparison: f64,
    /// Upper 95 % bound of the rate of false verdicts.
    pub false_rate_bound: f64,
}

/// Shell loops whose length in CPU time is known.
#[derive(Clone, Copy, Debug)]
pub struct Loops {
    /// CPU seconds of a shell that does nothing.
    pub start: f64,
    /// CPU seconds of one turn of the loop.
    pub turn: f64,
}

impl Loops {
    /// Measures both here.
    pub fn calibrate() -> Result<Self, CommandError> {
        const TURNS: u32 = 40_000;
        let cpu = |line: &str| -> Result<f64, CommandError> {
            let target = CommandTarget {
                precedes: true,
                ..CommandTarget::shell(line)
            };
            let runs: Result<Vec<f64>, _> = (1..=9)
                .map(|run| target.run(run).map(|run| run.cpu.as_secs_f64()))
                .collect();
            Ok(median_of(&runs?))
        };
        let start = cpu(":")?;
        let long = cpu(&Self::line(TURNS))?;
        Ok(Self {
            start,
            turn: ((long - start) / f64::from(TURNS)).max(1e-9),
        })
    }

    /// A line that makes this many turns.
    pub fn line(turns: u32) -> String {
        format!("i=0; while [ $i -lt {turns} ]; do i=$((i+1)); done")
    }

    /// Turns that take `seconds` with the start of the shell.
    pub fn turns(&self, seconds: f64) -> u32 {
        ((seconds - self.start) / self.turn).clamp(1.0, 1e8) as u32
    }
}

/// Makes `pairs` identical and as many slowed comparisons; `watch` is told after each.
pub fn selftest(
    pairs: usize,
    effect: f64,
    plan: &TurnsPlan,
    watch: &mut dyn FnMut(usize),
) -> Result<CommandSelfTest, CommandError> {
    let loops = Loops::calibrate()?;
    let mut random = Random::seeded(plan.seed);
    let mut result = CommandSelfTest {
        identical: VerdictCounts::default(),
        slowed: VerdictCounts::default(),
        effect,
        margin: plan.margin,
        by_cpu_time: 0,
        preempted_share: 0.0,
        seconds_per_comparison: 0.0,
        false_rate_bound: 1.0,
    };
    let (mut samples, mut preempted) = (0, 0);
    let begun = Instant::now();
    for pair in 0..2 * pairs {
        let seconds = 0.002 + 0.013 * random.unit();
        let slow = pair % 2 == 1;
        let slower = if slow {
            seconds * (1.0 + effect)
        } else {
            seconds
        };
        let contestant = |name: &str, seconds: f64| {
            let target = CommandTarget {
                limit: Duration::from_secs(60),
                precedes: true,
                ..CommandTarget::shell(&Loops::line(loops.turns(seconds)))
            };
            Contestant::new(name, target)
        };
        let plan = TurnsPlan {
            seed: random.bits(),
            ..*plan
        };
        let both = [contestant("A", seconds), contestant("B", slower)];
        let turns = contest(&both, 1, &plan, &mut |_| {})?;
        if let Some(error) = turns.failure {
            return Err(error);
        }
        for side in &turns.sides {
            samples += side.seconds.len();
            preempted += side.preempted.len();
        }
        for conclusion in &turns.conclusions {
            let counts = match slow {
                true => &mut result.slowed,
                false => &mut result.identical,
            };
            counts.add(conclusion.evaluation.verdict);
            result.by_cpu_time += usize::from(conclusion.choice.clock == Clock::Cpu);
        }
        watch(pair + 1);
    }
    let identical = result.identical;
    result.preempted_share = preempted as f64 / samples.max(1) as f64;
    result.seconds_per_comparison = begun.elapsed().as_secs_f64() / (2 * pairs).max(1) as f64;
    result.false_rate_bound =
        upper_bound(identical.slower + identical.faster, identical.comparisons);
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_comparison_is_counted_once() {
        let plan = TurnsPlan {
            budget: Duration::from_millis(300),
            ..TurnsPlan::default()
        };
        let mut told = 0;
        let result = selftest(1, 0.5, &plan, &mut |_| told += 1).unwrap();
        assert_eq!(told, 2);
        let counted = (result.identical.comparisons, result.slowed.comparisons);
        assert_eq!(counted, (1, 1));
    }
}
