//! `warpsmith leak`: whether memory grows with the steps of a workload, or in a recorded trace.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use serde::Serialize;
use warpsmith_core::Bytes;
use warpsmith_device::Device;
use warpsmith_measure::findings;
use warpsmith_measure::leak::detector::{LeakPlan, LeakVerdict};
use warpsmith_measure::leak::process_tree::{self, Steps, WatchedCommand};
use warpsmith_measure::leak::resident::{available_bytes, page_bytes};
use warpsmith_measure::report::html::Section;
use warpsmith_measure::report::plot;
use warpsmith_measure::run_sampler::{RunMode, RunSampler};
use warpsmith_measure::trajectory::{self, MemorySeries};
use warpsmith_telemetry::ProcessMemory;
use warpsmith_workload::Parameters;

use warpsmith_console::catalogue;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::interruption::Interruption;
use warpsmith_console::measured::Files;
use warpsmith_console::numbers;
use warpsmith_console::output;
use warpsmith_console::table::Table;

/// Judge whether memory grows: LEAK, OK or INCONCLUSIVE.
///
/// The steps of a workload, a command or a process are watched; growth is told in bytes per step.
#[derive(Args)]
#[command(
    after_long_help = "Examples:\n  warpsmith leak machine/saxpy --steps 20000\n  \
    warpsmith leak --step-by lines -- python3 train.py   # a step is a line of its output\n  \
    warpsmith leak --pid 1234 --duration 60s\n  \
    warpsmith leak --from rss.txt --grain 4096\n\n\
    Exit codes: 0 no leak, 1 a leak, 4 too few steps to say."
)]
pub(crate) struct Leak {
    /// The workload to run.
    #[arg(required_unless_present_any = ["from", "pid", "words"],
          conflicts_with_all = ["from", "pid", "words"])]
    workload: Option<String>,
    /// A command to run and watch with everything that it starts.
    #[arg(last = true, conflicts_with_all = ["from", "pid"])]
    words: Vec<String>,
    /// A process to watch with everything that it started.
    #[arg(long, conflicts_with = "from")]
    pid: Option<u32>,
    /// What a step of a command or process is.
    #[arg(long, value_enum, default_value_t = StepBy::Time)]
    step_by: StepBy,
    /// A file with a number that the command changes at every step; for `--step-by counter`.
    #[arg(long, value_name = "FILE", required_if_eq("step_by", "counter"))]
    counter: Option<PathBuf>,
    /// The step of `--step-by time`.
    #[arg(long, alias = "interval", default_value = "50ms", value_name = "TIME", value_parser = numbers::seconds, allow_negative_numbers = true)]
    step_time: f64,
    /// Watch a command or process for this long.
    #[arg(long, alias = "seconds", default_value = "60s", value_name = "TIME", value_parser = numbers::seconds, allow_negative_numbers = true)]
    duration: f64,
    /// Read the bytes in use after each step from a file, one number to a line.
    #[arg(long, alias = "trace", value_name = "FILE", value_parser = inputs::file())]
    from: Option<PathBuf>,
    /// Steps to run, or readings of a command to take at most.
    #[arg(long, value_name = "N", default_value_t = 5000, value_parser = numbers::count, allow_negative_numbers = true)]
    steps: usize,
    /// Set a parameter of the workload, `name=value`.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = catalogue::parse_setting)]
    settings: Vec<(String, String)>,
    /// Growth that is proven to stay below this many bytes per step is no leak.
    ///
    /// Where it is not
    /// given, any proven growth is one, and 1074 (one GiB in a million steps) is what must be ruled
    /// out.
    #[arg(long, value_name = "BYTES", value_parser = bytes, allow_negative_numbers = true)]
    tolerate: Option<f64>,
    /// The smallest amount by which the memory of a trace can grow, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 1.0, value_parser = bytes, allow_negative_numbers = true)]
    grain: f64,
    #[command(flatten)]
    files: Files,
}

/// Drivers give device memory out in blocks of this size.
const DEVICE_GRAIN: f64 = (2u64 << 20) as f64;

/// What a step is.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StepBy {
    Time,
    Lines,
    Counter,
}

/// A number of bytes that may be zero.
fn bytes(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(bytes) if (0.0..=1e15).contains(&bytes) => Ok(bytes),
        _ => Err("must be a number of bytes, 0 or more".to_owned()),
    }
}

#[derive(Serialize)]
struct Body {
    name: String,
    memory: Vec<MemorySeries>,
}

impl Leak {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let global = &self.files.check(global, &[])?;
        let (name, mut memory) = match (&self.from, self.pid, self.words.is_empty()) {
            (Some(path), ..) => (path.display().to_string(), vec![self.read_trace(path)?]),
            (None, Some(pid), _) => self.watch_process(global, pid)?,
            (None, None, false) => self.watch_command(global)?,
            (None, None, true) => self.run_workload(global)?,
        };
        if let Some(budget) = self.tolerate {
            for series in &mut memory {
                series.report.tolerate(budget);
            }
        }
        let findings: Vec<_> = memory
            .iter()
            .filter_map(|series| findings::of_leak(&series.kind, &series.report))
            .collect();
        let verdict = |wanted| memory.iter().any(|series| series.report.verdict == wanted);
        let outcome = match (
            verdict(LeakVerdict::Leak),
            verdict(LeakVerdict::Inconclusive),
        ) {
            (true, _) => Outcome::NotFine,
            (false, true) => Outcome::Undecided,
            (false, false) => Outcome::Fine,
        };
        let mut report = output::report("leak", Body { name, memory });
        report.findings = findings;
        let body = &report.body;
        let sections = || {
            let plots = body.memory.iter();
            vec![Section {
                heading: body.name.clone(),
                text: describe(body),
                plots: plots
                    .map(|series| plot::series(&series.kind, &series.bytes, "reading", "bytes"))
                    .collect(),
            }]
        };
        let written = self.files.write(
            global,
            &format!("leak: {}", body.name),
            &[],
            sections,
            &report,
        );
        output::print(global, &report, describe)?;
        // A file that cannot be written loses nothing: the result stands above.
        written?;
        Ok(outcome)
    }

    fn budget(&self) -> f64 {
        self.tolerate.unwrap_or(LeakPlan::default().budget)
    }

    fn watch_process(&self, global: &Global, pid: u32) -> Result<(String, Vec<MemorySeries>)> {
        if process_tree::tree(pid).is_empty() {
            bail!("there is no process {pid}");
        }
        if self.step_by == StepBy::Lines {
            bail!("`--step-by lines` needs a command: the output of process {pid} is not ours");
        }
        let interruption = Interruption::listen()?;
        let steps = self.steps_of_time_or_counter()?;
        let series = self.watch(global, pid, steps, &interruption)?;
        Ok((format!("process {pid}"), series))
    }

    fn watch_command(&self, global: &Global) -> Result<(String, Vec<MemorySeries>)> {
        let interruption = Interruption::listen()?;
        let line = self.words.join(" ");
        let (mut command, output) =
            WatchedCommand::start(&self.words, self.step_by == StepBy::Lines)
                .with_context(|| format!("cannot start `{line}`"))?;
        let steps = match output {
            Some(output) => Steps::Lines(Box::new(output)),
            None => self.steps_of_time_or_counter()?,
        };
        let watched = self.watch(global, command.id(), steps, &interruption);
        let ended = command.ended()?;
        let series = match (watched, ended) {
            (Err(_), Some(status)) => bail!("`{line}` ended ({status}) before its first step"),
            (watched, _) => watched?,
        };
        if let Some(status) = ended.filter(|status| !status.success()) {
            // The first reading may come before the command dies: it says nothing, either.
            if series.iter().all(|one| one.bytes.len() < 2) {
                bail!("`{line}` ended ({status}) before its second step");
            }
            output::note(global, &format!("note: `{line}` failed ({status})"));
        }
        Ok((line, series))
    }

    fn steps_of_time_or_counter(&self) -> Result<Steps<'_>> {
        let interval = Duration::try_from_secs_f64(self.step_time)?;
        Ok(match &self.counter {
            Some(path) if self.step_by == StepBy::Counter => Steps::Counter(path, interval),
            _ => Steps::Time(interval),
        })
    }

    fn watch(
        &self,
        global: &Global,
        pid: u32,
        steps: Steps<'_>,
        interruption: &Interruption,
    ) -> Result<Vec<MemorySeries>> {
        output::progress(global, &format!("watching process {pid}"));
        let limit = Duration::try_from_secs_f64(self.duration)?;
        let mut gpus = ProcessMemory::open();
        let mut on_gpus = |pids: &[u32]| gpus.as_mut()?.bytes_of(pids);
        let mut readings = process_tree::watch(
            pid,
            steps,
            self.steps,
            limit,
            &|| interruption.came(),
            Some(&mut on_gpus),
        );
        // A command that never touched a GPU has nothing to be judged there.
        if readings.device.iter().all(|one| one.bytes == 0.0) {
            readings.device.clear();
        }
        output::progress(global, "");
        let host = LeakPlan {
            budget: self.budget(),
            grain: page_bytes() as f64,
            free: available_bytes().map(|bytes| bytes as f64),
        };
        let device = LeakPlan {
            grain: DEVICE_GRAIN,
            free: None,
            ..host
        };
        let kinds = [
            ("resident", readings.resident, host),
            ("proportional", readings.proportional, host),
            ("device", readings.device, device),
        ];
        let series: Vec<MemorySeries> = kinds
            .into_iter()
            .filter(|(_, readings, _)| !readings.is_empty())
            .map(|(kind, readings, plan)| {
                let (every, bytes) = process_tree::evenly(&readings);
                MemorySeries {
                    kind: kind.to_owned(),
                    every,
                    report: trajectory::judge_readings(&bytes, every, &plan),
                    bytes,
                }
            })
            .collect();
        if series.is_empty() {
            bail!("process {pid} ended before its first step");
        }
        Ok(series)
    }

    fn read_trace(&self, path: &Path) -> Result<MemorySeries> {
        let text = fs::read_to_string(path)
            .with_context(|| format!("cannot read `{}`", path.display()))?;
        let mut bytes = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match line.parse::<f64>() {
                Ok(value) if value.is_finite() => bytes.push(value),
                _ => bail!(
                    "`{}` line {}: `{line}` is not a number of bytes",
                    path.display(),
                    number + 1
                ),
            }
        }
        let plan = LeakPlan {
            budget: self.budget(),
            grain: self.grain,
            free: None,
        };
        Ok(MemorySeries {
            kind: "traced".to_owned(),
            every: 1,
            report: trajectory::judge_readings(&bytes, 1, &plan),
            bytes,
        })
    }

    fn run_workload(&self, global: &Global) -> Result<(String, Vec<MemorySeries>)> {
        let named: Vec<String> = self.workload.iter().cloned().collect();
        let workloads = catalogue::choose(&named)?;
        let [workload] = &workloads[..] else {
            bail!(
                "`leak` takes one workload; `{}` names {}",
                named.join(" "),
                workloads.len()
            );
        };
        let device = Device::open(global.device)?;
        device.warm_up()?;
        let parameters = Parameters::resolve(workload.parameters(), &self.settings)?;
        let sampler = RunSampler::new(&device, RunMode::EndToEnd)?;
        let interruption = Interruption::listen()?;
        let mut target = sampler.target(workload.prepare(&device, &parameters, 1)?)?;
        let done = trajectory::run(
            workload.id(),
            &sampler,
            &mut target,
            &device,
            self.steps,
            self.budget(),
            &mut |step| {
                output::progress(global, &format!("step {step} of {}", self.steps));
                !interruption.came()
            },
        )?;
        output::progress(global, "");
        if interruption.came() {
            output::note(global, "interrupted: judging the steps until then");
        }
        Ok((workload.id().to_owned(), done.memory))
    }
}

fn describe(body: &Body) -> String {
    memory_table(&body.memory)
}

/// Verdicts on memory series as a table.
pub(crate) fn memory_table(memory: &[MemorySeries]) -> String {
    let mut table = Table::new(&[
        "memory",
        "verdict",
        ">bytes/step",
        ">95 % interval",
        ">in use",
        ">steps",
        "notes",
    ]);
    for series in memory {
        let report = &series.report;
        let mut notes = Vec::new();
        for shift in &report.shifts {
            let size = Bytes(shift.bytes.abs() as u64);
            let sign = if shift.bytes < 0.0 { "-" } else { "+" };
            notes.push(format!("one-time {sign}{size} near step {}", shift.step));
        }
        if report.still_settling {
            notes.push("warm-up separated".to_owned());
        }
        if let Some(step) = report.memory_ends_at {
            notes.push(format!("memory ends near step {step}"));
        }
        if let Some(steps) = report.steps_needed {
            notes.push(format!("run about {steps} steps"));
        }
        table.row([
            series.kind.clone(),
            report.verdict.to_string(),
            format!("{:.1}", report.bytes_per_step),
            match report.low.is_finite() && report.high.is_finite() {
                true => format!("{:.1} to {:.1}", report.low, report.high),
                false => "too few steps".to_owned(),
            },
            Bytes(series.bytes.last().copied().unwrap_or(0.0).max(0.0) as u64).to_string(),
            report.steps.to_string(),
            notes.join("; "),
        ]);
    }
    table.to_string()
}
