//! `warpsmith selftest`: what verdicts are worth on this machine.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde::Serialize;
use warpsmith_core::Seconds;
use warpsmith_measure::comparison::paired_rounds::ComparisonPlan;
use warpsmith_measure::comparison::turns::TurnsPlan;
use warpsmith_measure::selftest::VerdictCounts;
use warpsmith_measure::selftest::closures::{self, SelfTest};
use warpsmith_measure::selftest::commands::{self, CommandSelfTest};

use crate::exit::Outcome;
use crate::global::Global;
use crate::numbers;
use crate::output;

/// Compare identical and slowed work here, and count the verdicts.
#[derive(Args)]
#[command(
    after_long_help = "Examples:\n  warpsmith selftest\n  warpsmith selftest --pairs 240 --load 2\n  \
    warpsmith selftest --of commands --pairs 20 --load 12"
)]
pub(crate) struct Selftest {
    /// What is compared: closures in this process, or commands of 2 to 15 ms.
    #[arg(long, value_enum, default_value_t = Kind::Closures)]
    of: Kind,
    /// Identical pairs, and as many slowed ones.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pairs: u32,
    /// How much more work the slowed side does.
    #[arg(long, default_value_t = 3.0, value_name = "PERCENT", value_parser = numbers::percent, allow_negative_numbers = true)]
    effect: f64,
    /// Differences up to this much do not matter.
    #[arg(long, default_value_t = 1.0, value_name = "PERCENT", value_parser = numbers::percent, allow_negative_numbers = true)]
    margin: f64,
    /// Time for one comparison of commands.
    #[arg(long, default_value = "5s", value_name = "TIME", value_parser = numbers::seconds, allow_negative_numbers = true)]
    budget: f64,
    /// Spin on this many threads meanwhile, to see what a busy machine does.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=256))]
    load: u32,
}

/// What a self-test is of.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    Closures,
    Commands,
}

#[derive(Serialize)]
#[serde(tag = "of", rename_all = "kebab-case")]
enum Body {
    Closures(SelfTest),
    Commands(CommandSelfTest),
}

impl Selftest {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let done = AtomicBool::new(false);
        let body = thread::scope(|scope| {
            for _ in 0..self.load {
                scope.spawn(|| {
                    let mut x = 1u64;
                    while !done.load(Ordering::Relaxed) {
                        x = black_box(x.wrapping_mul(3));
                    }
                });
            }
            let body = self.measure(global);
            done.store(true, Ordering::Relaxed);
            body
        })?;
        output::progress(global, "");
        let report = output::report("selftest", body);
        output::print(global, &report, |body| match body {
            Body::Closures(result) => describe(result),
            Body::Commands(result) => describe_commands(result),
        })?;
        let identical = match &report.body {
            Body::Closures(result) => result.identical,
            Body::Commands(result) => result.identical,
        };
        // Two false verdicts in a hundred are twice what the comparison promises.
        let false_verdicts = identical.slower + identical.faster;
        Ok(Outcome::fine_if(
            false_verdicts * 50 <= identical.comparisons,
        ))
    }

    fn measure(&self, global: &Global) -> Result<Body> {
        let (pairs, margin) = (self.pairs as usize, self.margin / 100.0);
        let effect = self.effect / 100.0;
        let mut watch = |pair: usize| {
            output::progress(global, &format!("{pair} of {} comparisons", 2 * pairs));
        };
        Ok(match self.of {
            Kind::Closures => {
                let plan = ComparisonPlan {
                    margin,
                    ..ComparisonPlan::default()
                };
                Body::Closures(closures::selftest(pairs, effect, &plan, &mut watch))
            }
            Kind::Commands => {
                let plan = TurnsPlan {
                    margin,
                    budget: Duration::try_from_secs_f64(self.budget)?,
                    ..TurnsPlan::default()
                };
                Body::Commands(commands::selftest(pairs, effect, &plan, &mut watch)?)
            }
        })
    }
}

fn describe_commands(result: &CommandSelfTest) -> String {
    format!(
        "{}{:.2} s per comparison, {} of {} decided by CPU time, {:.1} % of runs disturbed, margin {:.1} %\n",
        rates(
            &result.identical,
            &result.slowed,
            result.effect,
            result.false_rate_bound
        ),
        result.seconds_per_comparison,
        result.by_cpu_time,
        result.identical.comparisons + result.slowed.comparisons,
        100.0 * result.preempted_share,
        100.0 * result.margin,
    )
}

fn describe(result: &SelfTest) -> String {
    format!(
        "{}{:.2} s per comparison, {:.1} % of samples disturbed, margin {:.1} %, a stored sample costs {}\n",
        rates(
            &result.identical,
            &result.slowed,
            result.effect,
            result.false_rate_bound
        ),
        result.seconds_per_comparison,
        100.0 * result.preempted_share,
        100.0 * result.margin,
        Seconds(result.sample_cost_seconds),
    )
}

fn rates(same: &VerdictCounts, slow: &VerdictCounts, effect: f64, bound: f64) -> String {
    let share = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
    let false_verdicts = same.slower + same.faster;
    format!(
        "identical pairs: {} false verdicts of {} ({:.1} %, below {:.1} % with 95 % confidence); \
         {} proven the same, {} open\n\
         {:.1} % more work: found in {} of {} ({:.1} %); wrongly faster {}, wrongly the same {}, open {}\n",
        false_verdicts,
        same.comparisons,
        share(false_verdicts, same.comparisons),
        100.0 * bound,
        same.same,
        same.undecided,
        100.0 * effect,
        slow.slower,
        slow.comparisons,
        share(slow.slower, slow.comparisons),
        slow.faster,
        slow.same,
        slow.undecided,
    )
}
