//! `warpsmith leak`: whether memory grows with the steps of a workload, or in a recorded trace.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use warpsmith_core::Bytes;
use warpsmith_device::Device;
use warpsmith_measure::findings;
use warpsmith_measure::leak::detector::{LeakPlan, LeakVerdict};
use warpsmith_measure::report::html::Section;
use warpsmith_measure::report::plot;
use warpsmith_measure::run_sampler::{RunMode, RunSampler};
use warpsmith_measure::trajectory::{self, MemorySeries};
use warpsmith_workload::Parameters;

use crate::catalogue;
use crate::exit::Outcome;
use crate::global::Global;
use crate::measured::Files;
use crate::output;
use crate::table::Table;

/// Judge memory over many steps: LEAK, OK or INCONCLUSIVE, with bytes per step.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  warpsmith leak machine/saxpy --steps 20000\n  \
    warpsmith leak --trace rss.txt --grain 4096\n\n\
    Exit code 1 means that a leak was found; too few steps to say is a warning."
)]
pub(crate) struct Leak {
    /// The workload to run.
    #[arg(required_unless_present = "trace", conflicts_with = "trace")]
    workload: Option<String>,
    /// A file with the bytes in use after each step, one number to a line.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Steps to run.
    #[arg(long, default_value_t = 5000)]
    steps: usize,
    /// Set a parameter of the workload, `name=value`.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = catalogue::parse_setting)]
    settings: Vec<(String, String)>,
    /// Growth up to this many bytes per step is acceptable (one GiB in a million steps).
    #[arg(long, default_value_t = 1074.0)]
    budget: f64,
    /// The smallest amount by which the memory of a trace can grow, in bytes.
    #[arg(long, default_value_t = 1.0)]
    grain: f64,
    #[command(flatten)]
    files: Files,
}

#[derive(Serialize)]
struct Body {
    name: String,
    memory: Vec<MemorySeries>,
}

impl Leak {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let global = &self.files.check(global, &[])?;
        let (name, memory) = match &self.trace {
            Some(path) => (path.display().to_string(), vec![self.read_trace(path)?]),
            None => self.run_workload(global)?,
        };
        let findings: Vec<_> = memory
            .iter()
            .filter_map(|series| findings::of_leak(&series.kind, &series.report))
            .collect();
        let leaks = memory
            .iter()
            .any(|series| series.report.verdict == LeakVerdict::Leak);
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
        self.files.write(
            global,
            &format!("leak: {}", body.name),
            &[],
            sections,
            &report,
        )?;
        output::print(global, &report, describe)?;
        Ok(Outcome::fine_if(!leaks))
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
            budget: self.budget,
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
        let mut target = sampler.target(workload.prepare(&device, &parameters, 1)?)?;
        let done = trajectory::run(
            workload.id(),
            &sampler,
            &mut target,
            &device,
            self.steps,
            self.budget,
            &mut |step| output::progress(global, &format!("step {step} of {}", self.steps)),
        )?;
        output::progress(global, "");
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
            format!("{:.1} to {:.1}", report.low, report.high),
            Bytes(series.bytes.last().copied().unwrap_or(0.0).max(0.0) as u64).to_string(),
            report.steps.to_string(),
            notes.join("; "),
        ]);
    }
    table.to_string()
}
