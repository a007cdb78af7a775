//! `warpsmith selftest`: what verdicts are worth on this machine.

use std::fmt;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use serde::Serialize;
use warpsmith_core::Seconds;
use warpsmith_history::selftest::{HistorySelfTest, selftest as history};
use warpsmith_measure::comparison::paired_rounds::ComparisonPlan;
use warpsmith_measure::comparison::turns::TurnsPlan;
use warpsmith_measure::cpu::closure::{ClosurePlan, ClosureSampler};
use warpsmith_measure::selftest::closures::{self, SelfTest};
use warpsmith_measure::selftest::commands::{self, CommandSelfTest};
use warpsmith_measure::selftest::stored::{self, StoredSelfTest};
use warpsmith_measure::selftest::{VerdictCounts, upper_bound};
use warpsmith_measure::statistics::stop_rule::StopPlan;

use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::numbers;
use warpsmith_console::output;

/// Compare identical and slowed work here, and count the verdicts.
#[derive(Args)]
#[command(
    after_long_help = "Examples:\n  warpsmith selftest\n  warpsmith selftest --pairs 240 --load 2\n  \
    warpsmith selftest --of commands --pairs 20 --load 12\n  \
    warpsmith selftest --of all --pairs 10"
)]
pub(crate) struct Selftest {
    /// What is tried.
    ///
    /// `compare` of closures in this process, of commands of 2 to 15 ms, or of Python callables (needs
    /// a Python with the package); `history` over 30 results; `report --compare`.
    #[arg(long, value_enum, default_value_t = Kind::Closures)]
    of: Kind,
    /// The Python of `--of python`; default: `python3`.
    #[arg(long, value_name = "FILE")]
    python: Option<PathBuf>,
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
    Python,
    History,
    Report,
    All,
}

#[derive(Serialize)]
#[serde(tag = "of", rename_all = "kebab-case")]
enum Part {
    Closures(SelfTest),
    Commands(CommandSelfTest),
    Python(PythonSelfTest),
    History(HistorySelfTest),
    Report(StoredSelfTest),
    /// What could not be tried here.
    Left {
        what: &'static str,
        reason: String,
    },
}

/// One part is the body itself, as it was before there were several.
#[derive(Serialize)]
#[serde(untagged)]
enum Body {
    One(Box<Part>),
    All { parts: Vec<Part> },
}

impl Body {
    fn parts(&self) -> &[Part] {
        match self {
            Self::One(part) => std::slice::from_ref(part),
            Self::All { parts } => parts,
        }
    }
}

/// What comparisons of Python callables are worth on this machine.
#[derive(Serialize)]
struct PythonSelfTest {
    identical: VerdictCounts,
    slowed: VerdictCounts,
    effect: f64,
    margin: f64,
    seconds_per_comparison: f64,
    false_rate_bound: f64,
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
        output::print(global, &report, |body| {
            let parts = body.parts();
            let several = parts.len() > 1;
            parts.iter().map(|part| part.describe(several)).collect()
        })?;
        let parts = report.body.parts();
        if parts.iter().all(|part| matches!(part, Part::Left { .. })) {
            return Ok(Outcome::CannotHere);
        }
        Ok(Outcome::fine_if(parts.iter().all(Part::is_fine)))
    }

    fn measure(&self, global: &Global) -> Result<Body> {
        let one = |kind| self.part(global, kind);
        Ok(match self.of {
            Kind::All => {
                let kinds = [
                    Kind::Closures,
                    Kind::Commands,
                    Kind::Python,
                    Kind::History,
                    Kind::Report,
                ];
                Body::All {
                    parts: kinds.into_iter().map(one).collect::<Result<_>>()?,
                }
            }
            kind => Body::One(Box::new(one(kind)?)),
        })
    }

    fn part(&self, global: &Global, kind: Kind) -> Result<Part> {
        let (pairs, margin) = (self.pairs as usize, self.margin / 100.0);
        let effect = self.effect / 100.0;
        let mut watch = |pair: usize| {
            output::progress(global, &format!("{pair} of {} comparisons", 2 * pairs));
        };
        Ok(match kind {
            Kind::Commands => {
                let plan = TurnsPlan {
                    margin,
                    budget: Duration::try_from_secs_f64(self.budget)?,
                    ..TurnsPlan::default()
                };
                Part::Commands(commands::selftest(pairs, effect, &plan, &mut watch)?)
            }
            Kind::Python => match self.python(pairs, effect, margin) {
                Ok(result) => Part::Python(result),
                Err(reason) => Part::Left {
                    what: "Python callables",
                    reason: format!("{reason:#}"),
                },
            },
            Kind::History => {
                let mut measure = history_sampler();
                Part::History(history(pairs.div_ceil(6), effect, &mut measure, &mut watch))
            }
            Kind::Report => Part::Report(stored::selftest(pairs, effect, margin, &mut watch)),
            Kind::Closures | Kind::All => {
                let plan = ComparisonPlan {
                    margin,
                    ..ComparisonPlan::default()
                };
                Part::Closures(closures::selftest(pairs, effect, &plan, &mut watch))
            }
        })
    }

    fn python(&self, pairs: usize, effect: f64, margin: f64) -> Result<PythonSelfTest> {
        let python = self.python.as_deref().unwrap_or(Path::new("python3"));
        let done = Command::new(python)
            .args(["-c", include_str!("selftest_callables.py")])
            .args([pairs.to_string(), effect.to_string(), margin.to_string()])
            .arg(self.budget.min(2.0).to_string())
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot start `{}`", python.display()))?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            let last = said.lines().last().unwrap_or("it said nothing").to_owned();
            bail!("`{}` failed: {last}", python.display());
        }
        let counted: serde_json::Value = serde_json::from_slice(&done.stdout)?;
        let of = |kind: &str| {
            let count = |verdict: &str| counted[kind][verdict].as_u64().unwrap_or(0) as usize;
            VerdictCounts {
                comparisons: pairs,
                slower: count("SLOWER"),
                faster: count("FASTER"),
                same: count("SAME"),
                undecided: count("UNDECIDED"),
            }
        };
        let identical = of("identical");
        Ok(PythonSelfTest {
            identical,
            slowed: of("slowed"),
            effect,
            margin,
            seconds_per_comparison: counted["seconds"].as_f64().unwrap_or(0.0),
            false_rate_bound: upper_bound(identical.slower + identical.faster, pairs),
        })
    }
}

/// Takes one result of a history: the median of some 50 ms of work.
fn history_sampler() -> impl FnMut(f64) -> f64 {
    let sampler = ClosureSampler::calibrate();
    move |work| {
        let turns = (20_000.0 * work) as u64;
        let mut chain = || {
            let mut x = black_box(1u64);
            for _ in 0..turns {
                x = x.wrapping_mul(6_364_136_223_846_793_005).rotate_left(17);
            }
            black_box(x);
        };
        let plan = ClosurePlan {
            stop: StopPlan {
                timeout: Duration::from_millis(50),
                ..StopPlan::default()
            },
            inner: Some(1),
        };
        let measurement = sampler.measure("history", &mut chain, &plan, &mut |_| {});
        let figures = measurement.figures();
        figures.map_or(f64::NAN, |figures| figures.interval.median)
    }
}

/// How often comparisons of one kind were right.
struct Rates<'a> {
    identical: &'a VerdictCounts,
    slowed: &'a VerdictCounts,
    effect: f64,
    /// Upper bound of the rate of false verdicts.
    bound: f64,
    margin: f64,
    seconds_each: f64,
}

impl Part {
    /// The rates of a part that compares pairs.
    fn rates(&self) -> Option<Rates<'_>> {
        macro_rules! of {
            ($result:expr) => {
                Some(Rates {
                    identical: &$result.identical,
                    slowed: &$result.slowed,
                    effect: $result.effect,
                    bound: $result.false_rate_bound,
                    margin: $result.margin,
                    seconds_each: $result.seconds_per_comparison,
                })
            };
        }
        match self {
            Self::Closures(result) => of!(result),
            Self::Commands(result) => of!(result),
            Self::Python(result) => of!(result),
            Self::Report(result) => of!(result),
            Self::History(_) | Self::Left { .. } => None,
        }
    }

    /// Two false verdicts in a hundred are twice what the comparison promises.
    fn is_fine(&self) -> bool {
        match (self, self.rates()) {
            (_, Some(rates)) => rates.false_verdicts() * 50 <= rates.identical.comparisons,
            (Self::History(result), _) => result.false_alarms * 20 <= result.histories,
            _ => true,
        }
    }

    fn describe(&self, headed: bool) -> String {
        let rates = self
            .rates()
            .map_or(String::new(), |rates| rates.to_string());
        let (heading, says) = match self {
            Self::Closures(result) => ("closures", closures_line(result)),
            Self::Commands(result) => ("commands", commands_line(result)),
            Self::Python(_) => ("Python callables", String::new()),
            Self::Report(result) => (
                "report --compare, results taken apart",
                format!(
                    "; results taken apart resolve {:.1} % here",
                    100.0 * result.resolves
                ),
            ),
            Self::History(result) => ("history", history_lines(result)),
            Self::Left { what, reason } => (*what, format!("not tried: {reason}")),
        };
        match headed {
            true => format!("{heading}\n{rates}{says}\n\n"),
            false => format!("{rates}{says}\n"),
        }
    }
}

fn closures_line(result: &SelfTest) -> String {
    format!(
        ", {:.1} % of samples disturbed, a stored sample costs {}",
        100.0 * result.preempted_share,
        Seconds(result.sample_cost_seconds),
    )
}

fn commands_line(result: &CommandSelfTest) -> String {
    format!(
        ", {} of {} decided by CPU time, {:.1} % of runs disturbed",
        result.by_cpu_time,
        result.identical.comparisons + result.slowed.comparisons,
        100.0 * result.preempted_share,
    )
}

fn history_lines(result: &HistorySelfTest) -> String {
    format!(
        "no step: {} false alarms in {} histories of {} results\n\
         a step: named in {} of {}, at the very commit in {}; a second suspect in {}",
        result.false_alarms,
        result.histories,
        result.commits,
        result.found,
        result.histories,
        result.right_commit,
        result.second_suspects,
    )
}

impl Rates<'_> {
    fn false_verdicts(&self) -> usize {
        self.identical.slower + self.identical.faster
    }
}

impl fmt::Display for Rates<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
        let (same, slow) = (self.identical, self.slowed);
        writeln!(
            f,
            "identical pairs: {} false verdicts of {} ({:.1} %, below {:.1} % with 95 % \
             confidence); {} proven the same, {} open",
            self.false_verdicts(),
            same.comparisons,
            share(self.false_verdicts(), same.comparisons),
            100.0 * self.bound,
            same.same,
            same.undecided,
        )?;
        writeln!(
            f,
            "{:.1} % more work: found in {} of {} ({:.1} %); wrongly faster {}, wrongly the same \
             {}, open {}",
            100.0 * self.effect,
            slow.slower,
            slow.comparisons,
            share(slow.slower, slow.comparisons),
            slow.faster,
            slow.same,
            slow.undecided,
        )?;
        write!(
            f,
            "{:.2} s per comparison, margin {:.1} %",
            self.seconds_each,
            100.0 * self.margin
        )
    }
}
