//! `warpsmith run -- CMD`: how long a command takes.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use warpsmith_core::{Bytes, Seconds};
use warpsmith_measure::command::samples::CommandSamples;
use warpsmith_measure::command::{CommandError, CommandTarget, peak_memory};
use warpsmith_measure::findings;
use warpsmith_measure::measurement::{Figures, Measurement};
use warpsmith_measure::statistics::order::median_of;
use warpsmith_measure::statistics::stop_rule::StopPlan;
use warpsmith_telemetry::{ConditionsSampler, GpuConditions};

use super::command_end::ended;
use crate::machine::clock_guard::LockClocks;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::interruption::Interruption;
use warpsmith_console::measured::{self, Files};
use warpsmith_console::numbers;
use warpsmith_console::output;

/// Measure a command: time, memory, and what the GPUs did meanwhile.
///
/// Wall time has an interval, beside CPU time and peak memory.
#[derive(Args)]
#[command(
    after_long_help = "Examples:\n  warpsmith run -- ./solver --steps 100\n  \
    warpsmith run --runs 20 --html solver.html -- python3 train.py\n  \
    warpsmith run --save base.json -- ./solver && warpsmith compare base.json new.json"
)]
pub(crate) struct Run {
    /// The command and its arguments, run without a shell; its output is discarded.
    #[arg(required = true, last = true)]
    words: Vec<String>,
    /// Run exactly this often, instead of until the interval is narrow enough.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000), allow_negative_numbers = true)]
    runs: Option<u64>,
    /// Untimed runs first; the first of them also finds the peak memory of a small command.
    #[arg(
        short = 'w',
        long,
        alias = "warmup",
        value_name = "N",
        default_value_t = 1,
        value_parser = numbers::few,
        allow_negative_numbers = true
    )]
    warm_up: usize,
    /// What results call it; default: the command line. `history` keeps a series for every name.
    #[arg(short, long, value_name = "NAME")]
    name: Option<String>,
    /// A file that every run reads as its standard input.
    #[arg(long, alias = "input", value_name = "FILE", value_parser = inputs::file())]
    stdin: Option<PathBuf>,
    /// Stop when the interval of the median is this narrow.
    #[arg(long, default_value_t = 1.0, value_name = "PERCENT", value_parser = numbers::percent, allow_negative_numbers = true)]
    target: f64,
    /// Stop after this long, even if `--target` is not reached.
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = numbers::seconds, allow_negative_numbers = true)]
    budget: f64,
    /// End a single run that takes longer than this.
    #[arg(long, default_value = "10m", value_name = "TIME", value_parser = numbers::seconds, allow_negative_numbers = true)]
    limit: f64,
    /// Do not sample the GPUs while the command runs.
    #[arg(long)]
    no_telemetry: bool,
    /// Accept runs that fail.
    #[arg(short, long)]
    ignore_failure: bool,
    #[command(flatten)]
    lock_clocks: LockClocks,
    #[command(flatten)]
    files: Files,
}

#[derive(Serialize)]
struct Body {
    measurement: Measurement,
    figures: Figures,
    cpu_median_seconds: f64,
    /// Largest resident set; absent where our own hides it and no run could be looked into.
    peak_bytes: Option<u64>,
    failed_runs: usize,
    /// Processes that the runs left running, in sessions of their own.
    left_running: usize,
    /// What ended the measurement before its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
    /// What spawning an empty program costs here; not taken off.
    spawn_seconds: f64,
    /// What the GPUs did while the command ran, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    meanwhile: Option<GpuConditions>,
}

impl Run {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let global = &self.files.check(global, &[])?;
        let interruption = Interruption::listen()?;
        // Given back at the end of this function, and by its own process where we never get there.
        let _clocks = self.lock_clocks.acquire(global)?;
        let target = CommandTarget {
            limit: Duration::try_from_secs_f64(self.limit)?,
            ignore_failure: self.ignore_failure,
            stdin: self.stdin.clone(),
            interrupted: Some(interruption.flag()),
            ..CommandTarget::new(self.words.clone())
        };
        let mut peak = None;
        for run in 0..self.warm_up {
            let warm = target.run(run + 1)?;
            // One more run is not worth its time where it takes more than all that is sampled.
            let affordable = warm.wall.as_secs_f64() <= self.budget;
            if run == 0 && warm.peak_bytes.is_none() && affordable {
                peak = peak_memory::probe(&target);
            }
        }
        let spawn_seconds = spawn_cost();
        let sampler = match self.no_telemetry {
            true => None,
            false => ConditionsSampler::start(),
        };
        let (samples, failure) = self.sample(global, &target)?;
        let meanwhile = sampler.map(ConditionsSampler::finish);
        output::progress(global, "");
        let peak_bytes = samples.peak_bytes().or(peak);
        let CommandSamples { measurement, runs } = samples;
        let Some(figures) = measurement.figures() else {
            anyhow::bail!("`{}` gave no samples", target.line());
        };
        let findings = findings::of_measurement(&measurement, &figures);
        let body = Body {
            figures,
            cpu_median_seconds: median_of(&measurement.cpu_seconds),
            peak_bytes,
            failure: failure.as_ref().map(ToString::to_string),
            left_running: runs.iter().map(|run| run.left_running).sum(),
            failed_runs: runs.iter().filter(|run| !run.status.success()).count(),
            spawn_seconds,
            meanwhile,
            measurement,
        };
        let mut report = output::report("run", body);
        report.findings = findings;
        let body = &report.body;
        let written = self.files.write(
            global,
            &format!("run: {}", body.measurement.name),
            &[&body.measurement],
            || vec![measured::section(&body.measurement, &body.figures)],
            &report,
        );
        output::print(global, &report, |body| {
            let failed = match body.failed_runs {
                0 => String::new(),
                count => format!(", {count} runs failed"),
            };
            format!(
                "{}\nCPU time {} (median), peak memory {}, spawning alone costs {}{failed}\n{}",
                measured::table(&[(&body.measurement, &body.figures)]),
                Seconds(body.cpu_median_seconds),
                match body.peak_bytes {
                    Some(bytes) => Bytes(bytes).to_string(),
                    None => "not known".to_owned(),
                },
                Seconds(body.spawn_seconds),
                match &body.meanwhile {
                    Some(meanwhile) => meanwhile.to_string(),
                    None => String::new(),
                }
            )
        })?;
        // A file that cannot be written loses nothing: the result stands above.
        written?;
        match body.left_running {
            0 => {}
            count => {
                let who = match count {
                    1 => "1 process was".to_owned(),
                    count => format!("{count} processes were"),
                };
                let says = "left running by the command; what they do after its end is not counted";
                output::note(global, &format!("note: {who} {says}"));
            }
        }
        ended(global, Outcome::Fine, failure)
    }

    /// Samples until the plan is met or a run fails; fails itself only where there is no sample.
    fn sample(
        &self,
        global: &Global,
        target: &CommandTarget,
    ) -> Result<(CommandSamples, Option<CommandError>)> {
        let plan = StopPlan {
            target: self.target / 100.0,
            minimum_count: 10,
            timeout: match self.runs {
                Some(_) => Duration::MAX,
                None => Duration::try_from_secs_f64(self.budget)?,
            },
            ..StopPlan::default()
        };
        let name = self.name.clone().unwrap_or_else(|| target.line());
        let mut samples = CommandSamples::new(&name);
        let sampled = samples.extend(target, &plan, self.runs, &mut |progress| {
            measured::show_progress(global, &name, plan.target, progress);
        });
        match sampled {
            Err(error) if samples.runs.is_empty() => Err(error.into()),
            sampled => Ok((samples, sampled.err())),
        }
    }
}

/// The median time of `true`, zero where there is no such program.
fn spawn_cost() -> f64 {
    let empty = CommandTarget {
        limit: Duration::from_secs(5),
        ignore_failure: true,
        ..CommandTarget::new(vec!["true".to_owned()])
    };
    let times: Vec<f64> = (0..5)
        .filter_map(|run| empty.run(run + 1).ok())
        .map(|run| run.wall.as_secs_f64())
        .collect();
    if times.is_empty() {
        0.0
    } else {
        median_of(&times)
    }
}
