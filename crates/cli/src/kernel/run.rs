//! `warpsmith run -- CMD`: how long a command takes.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use warpsmith_core::{Bytes, Seconds};
use warpsmith_measure::command::{CommandError, CommandRun, CommandTarget, peak_memory};
use warpsmith_measure::cpu::closure::Progress;
use warpsmith_measure::cpu::steal::CpuTicks;
use warpsmith_measure::findings;
use warpsmith_measure::measurement::{Figures, Measurement};
use warpsmith_measure::statistics::order::median_of;
use warpsmith_measure::statistics::stop_rule::{MedianStop, StopPlan};
use warpsmith_telemetry::{ConditionsSampler, GpuConditions};

use crate::exit::Outcome;
use crate::global::Global;
use crate::interruption::Interruption;
use crate::measured::{self, Files};
use crate::numbers;
use crate::output;

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
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    runs: Option<u64>,
    /// Untimed runs first; the first of them also finds the peak memory of a small command.
    #[arg(
        short = 'w',
        long,
        alias = "warmup",
        value_name = "N",
        default_value_t = 1
    )]
    warm_up: usize,
    /// What results call it; default: the command line. `history` keeps a series for every name.
    #[arg(short, long, value_name = "NAME")]
    name: Option<String>,
    /// A file that every run reads as its standard input.
    #[arg(long, alias = "input", value_name = "FILE")]
    stdin: Option<PathBuf>,
    /// Stop when the interval of the median is this narrow.
    #[arg(long, default_value_t = 1.0, value_name = "PERCENT", value_parser = numbers::percent, allow_negative_numbers = true)]
    target: f64,
    /// Stop after this long, even if `--target` is not reached.
    #[arg(long, alias = "timeout", default_value = "10s", value_name = "TIME", value_parser = numbers::seconds, allow_negative_numbers = true)]
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
        let target = CommandTarget {
            limit: Duration::try_from_secs_f64(self.limit)?,
            ignore_failure: self.ignore_failure,
            stdin: self.stdin.clone(),
            interrupted: Some(interruption.flag()),
            ..CommandTarget::new(self.words.clone())
        };
        let mut peak = None;
        for run in 0..self.warm_up {
            let hidden = target.run(run + 1)?.peak_bytes.is_none();
            if run == 0 && hidden {
                peak = peak_memory::probe(&target);
            }
        }
        let spawn_seconds = spawn_cost();
        let sampler = match self.no_telemetry {
            true => None,
            false => ConditionsSampler::start(),
        };
        let (measurement, runs, failure) = self.sample(global, &target)?;
        let meanwhile = sampler.map(ConditionsSampler::finish);
        output::progress(global, "");
        let Some(figures) = measurement.figures() else {
            anyhow::bail!("`{}` gave no samples", target.line());
        };
        let findings = findings::of_measurement(&measurement, &figures);
        let body = Body {
            figures,
            cpu_median_seconds: median_of(&measurement.cpu_seconds),
            // A reading above our own size is exact.
            peak_bytes: runs.iter().filter_map(|run| run.peak_bytes).max().or(peak),
            failure: failure.as_ref().map(ToString::to_string),
            failed_runs: runs.iter().filter(|run| !run.status.success()).count(),
            spawn_seconds,
            meanwhile,
            measurement,
        };
        let mut report = output::report("run", body);
        report.findings = findings;
        let body = &report.body;
        self.files.write(
            global,
            &format!("run: {}", body.measurement.name),
            &[&body.measurement],
            || vec![measured::section(&body.measurement, &body.figures)],
            &report,
        )?;
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
        match failure {
            None => Ok(Outcome::Fine),
            Some(CommandError::Interrupted) => {
                output::note(global, "interrupted: this is what was measured until then");
                Ok(Outcome::Undecided)
            }
            // What was measured before it is printed and saved.
            Some(error) => Err(error.into()),
        }
    }

    /// Samples until the plan is met or a run fails; fails itself only where there is no sample.
    fn sample(
        &self,
        global: &Global,
        target: &CommandTarget,
    ) -> Result<(Measurement, Vec<CommandRun>, Option<CommandError>)> {
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
        let mut measurement = Measurement::of_command(&name);
        let mut failure = None;
        let ticks = CpuTicks::read();
        let mut stop = MedianStop::new(plan);
        let mut runs = Vec::new();
        let begun = Instant::now();
        loop {
            let run = match target.run(runs.len() + 1) {
                Ok(run) => run,
                Err(error) if runs.is_empty() => return Err(error.into()),
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            };
            measurement.push(run.sample());
            runs.push(run);
            let (count, elapsed) = (runs.len(), begun.elapsed());
            let asked = self.runs.is_some_and(|wanted| count as u64 >= wanted);
            let due = self.runs.is_none() && stop.is_due(count, elapsed);
            if !asked && !due {
                output::progress(global, &format!("{name}  run {count}"));
                continue;
            }
            let (_, samples, _) = measurement.basis();
            let reason = stop.look(&samples, elapsed);
            let interval = stop.interval();
            let progress = Progress {
                count,
                elapsed,
                interval,
            };
            measured::show_progress(global, &name, plan.target, &progress);
            if asked {
                break;
            }
            if let Some(reason) = reason {
                measurement.conditions.stop = reason;
                break;
            }
        }
        measurement.conditions.steal_share = ticks
            .zip(CpuTicks::read())
            .and_then(|(early, late)| late.stolen_share_since(&early));
        Ok((measurement, runs, failure))
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
