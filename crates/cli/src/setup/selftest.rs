//! `warpsmith selftest`: what verdicts are worth on this machine.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::Result;
use clap::Args;
use warpsmith_core::Seconds;
use warpsmith_measure::comparison::paired_rounds::ComparisonPlan;
use warpsmith_measure::selftest::{SelfTest, selftest};

use crate::exit::Outcome;
use crate::global::Global;
use crate::output;

/// Compare identical and slowed work on this machine, and count the verdicts.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  warpsmith selftest\n  warpsmith selftest --pairs 240 --load 2"
)]
pub(crate) struct Selftest {
    /// Identical pairs, and as many slowed ones.
    #[arg(long, default_value_t = 60)]
    pairs: usize,
    /// How much more work the slowed side does, in percent.
    #[arg(long, default_value_t = 3.0)]
    effect: f64,
    /// Differences up to this many percent do not matter.
    #[arg(long, default_value_t = 1.0)]
    margin: f64,
    /// Spin on this many threads meanwhile, to see what a busy machine does.
    #[arg(long, default_value_t = 0)]
    load: usize,
}

impl Selftest {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let plan = ComparisonPlan {
            margin: self.margin / 100.0,
            ..ComparisonPlan::default()
        };
        let done = AtomicBool::new(false);
        let result = thread::scope(|scope| {
            for _ in 0..self.load {
                scope.spawn(|| {
                    let mut x = 1u64;
                    while !done.load(Ordering::Relaxed) {
                        x = black_box(x.wrapping_mul(3));
                    }
                });
            }
            let result = selftest(self.pairs, self.effect / 100.0, &plan, &mut |pair| {
                output::progress(global, &format!("{pair} of {} comparisons", 2 * self.pairs));
            });
            done.store(true, Ordering::Relaxed);
            result
        });
        output::progress(global, "");
        let report = output::report("selftest", result);
        output::print(global, &report, describe)?;
        // Two false verdicts in a hundred are twice what the comparison promises.
        let false_verdicts = report.body.identical.slower + report.body.identical.faster;
        Ok(
            match false_verdicts * 50 > report.body.identical.comparisons {
                true => Outcome::NotFine,
                false => Outcome::Fine,
            },
        )
    }
}

fn describe(result: &SelfTest) -> String {
    let (same, slow) = (&result.identical, &result.slowed);
    let share = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
    let false_verdicts = same.slower + same.faster;
    format!(
        "identical pairs: {} false verdicts of {} ({:.1} %, below {:.1} % with 95 % confidence); \
         {} proven the same, {} open\n\
         {:.1} % more work: found in {} of {} ({:.1} %); wrongly faster {}, wrongly the same {}, open {}\n\
         {:.2} s per comparison, {:.1} % of samples disturbed, margin {:.1} %, a stored sample costs {}\n",
        false_verdicts,
        same.comparisons,
        share(false_verdicts, same.comparisons),
        100.0 * result.false_rate_bound,
        same.same,
        same.undecided,
        100.0 * result.effect,
        slow.slower,
        slow.comparisons,
        share(slow.slower, slow.comparisons),
        slow.faster,
        slow.same,
        slow.undecided,
        result.seconds_per_comparison,
        100.0 * result.preempted_share,
        100.0 * result.margin,
        Seconds(result.sample_cost_seconds),
    )
}
