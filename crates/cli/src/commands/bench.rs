//! `warpsmith bench`: the workloads, and how long they take.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use serde::Serialize;
use warpsmith_core::{BytesPerSecond, Finding, Flops, Severity};
use warpsmith_device::Device;
use warpsmith_measure::findings;
use warpsmith_measure::measurement::{Figures, Measurement};
use warpsmith_measure::report::plot;
use warpsmith_measure::run_sampler::{RunMode, RunSampler};
use warpsmith_measure::statistics::stop_rule::StopPlan;
use warpsmith_measure::trace;
use warpsmith_measure::trajectory::{self, MemorySeries};
use warpsmith_measure::{ParameterKind, Parameters, Workload};

use super::leak::memory_table;
use crate::arguments::{Format, Global};
use crate::catalogue;
use crate::exit::Outcome;
use crate::measured::{self, Files};
use crate::output;
use crate::table::Table;

/// Measure workloads, or list them.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  warpsmith bench --list\n  warpsmith bench device/saxpy\n  \
    warpsmith bench device/saxpy --device cuda --mode cold --set n=64M --html saxpy.html\n  \
    warpsmith bench device/saxpy --steps 10000   # each step, and memory along the way"
)]
pub(crate) struct Bench {
    /// Workloads, by id or by area; all where none is named.
    workloads: Vec<String>,
    /// List the workloads with their parameters, and measure nothing.
    #[arg(long)]
    list: bool,
    /// Set a parameter, `name=value`; applies to the one workload named.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = catalogue::parse_setting)]
    settings: Vec<(String, String)>,
    /// What is timed.
    #[arg(long, value_enum, default_value_t = Mode::Warm)]
    mode: Mode,
    /// Rounds, spread over the session: each workload in turn, then again.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Stop when the interval of the median is this narrow, in percent.
    #[arg(long, default_value_t = 0.5)]
    target: f64,
    /// Stop a round after this many seconds with the interval reached.
    #[arg(long, default_value_t = 15.0)]
    timeout: f64,
    /// Take exactly this many samples a round, instead of until the interval is narrow enough.
    #[arg(long)]
    samples: Option<usize>,
    /// Run this many steps in a row, timing each, and judge memory for leaks.
    #[arg(long)]
    steps: Option<usize>,
    /// With `--steps`: also write a trace for Perfetto, one span per step, memory beside it.
    #[arg(long, value_name = "FILE", requires = "steps")]
    trace: Option<PathBuf>,
    #[command(flatten)]
    files: Files,
}

/// What is timed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// The work alone, L2 flushed before each run.
    Cold,
    /// The work alone, caches as the last run left them.
    Warm,
    /// Many runs between two stamps.
    Batch,
    /// Replays of the run captured as a CUDA graph.
    Graph,
    /// From the call to the end of the wait.
    EndToEnd,
}

impl From<Mode> for RunMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Cold => Self::Cold,
            Mode::Warm => Self::Warm,
            Mode::Batch => Self::Batch,
            Mode::Graph => Self::Graph,
            Mode::EndToEnd => Self::EndToEnd,
        }
    }
}

#[derive(Serialize)]
struct Row {
    workload: &'static str,
    parameters: Parameters,
    device: String,
    /// Bytes that one run must at least move.
    bytes: u64,
    /// Floating-point operations of one run.
    flops: u64,
    measurement: Measurement,
    figures: Figures,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    memory: Vec<MemorySeries>,
}

impl Bench {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let workloads = catalogue::choose(&self.workloads)?;
        if self.list {
            return list(global, &workloads);
        }
        if !self.settings.is_empty() && workloads.len() != 1 {
            bail!(
                "`--set` applies to one workload; {} are asked for",
                workloads.len()
            );
        }
        let device = Device::open(global.device)?;
        device.warm_up()?;
        let mut found = Vec::new();
        let rows = match self.steps {
            Some(steps) => self.trajectories(global, &workloads, &device, steps)?,
            None => self.measure(global, &workloads, &device, &mut found)?,
        };
        output::progress(global, "");
        for row in &rows {
            found.extend(findings::of_measurement(&row.measurement, &row.figures));
            let leaks = row.memory.iter();
            found
                .extend(leaks.filter_map(|series| findings::of_leak(&series.kind, &series.report)));
        }
        let mut report = output::report("bench", rows);
        report.findings = found;
        let rows = &report.body;
        let measurements: Vec<&Measurement> = rows.iter().map(|row| &row.measurement).collect();
        let sections = || {
            let mut sections = Vec::new();
            for row in rows {
                let mut section = measured::section(&row.measurement, &row.figures);
                section.text = format!("{}\n{}", section.text, memory_table(&row.memory));
                let memory = row.memory.iter();
                section.plots.extend(memory.map(|series| {
                    plot::series(
                        &format!("{} memory", series.kind),
                        &series.bytes,
                        "reading",
                        "bytes",
                    )
                }));
                sections.push(section);
            }
            sections
        };
        self.files
            .write(global, "bench", &measurements, sections, &report)?;
        output::print(global, &report, |rows| describe(rows))?;
        let failed = report.worst() == Some(Severity::Error);
        Ok(if failed {
            Outcome::NotFine
        } else {
            Outcome::Fine
        })
    }

    fn measure(
        &self,
        global: &Global,
        workloads: &[Box<dyn Workload>],
        device: &Device,
        found: &mut Vec<Finding>,
    ) -> Result<Vec<Row>> {
        let mut plan = StopPlan {
            target: self.target / 100.0,
            timeout: Duration::try_from_secs_f64(self.timeout)?,
            ..StopPlan::default()
        };
        if let Some(samples) = self.samples {
            plan.target = 0.0;
            plan.maximum_count = samples.max(1);
        }
        let mut begun = Vec::new();
        for workload in workloads {
            output::progress(global, workload.id());
            let parameters = Parameters::resolve(workload.parameters(), &self.settings)?;
            let sampler = RunSampler::new(device, self.mode.into())?;
            let target = sampler.target(workload.prepare(device, &parameters, 1)?)?;
            let measurement = sampler.begin(workload.id(), &target);
            begun.push((workload, parameters, sampler, target, measurement));
        }
        // Round-robin: a state of the machine that outlives one round meets every workload.
        for _ in 0..self.rounds {
            for (workload, _, sampler, target, measurement) in &mut begun {
                sampler.measure_round(measurement, target, &plan, &mut |progress| {
                    measured::show_progress(global, workload.id(), plan.target, progress);
                })?;
            }
        }
        let mut rows = Vec::new();
        for (workload, parameters, sampler, _, measurement) in begun {
            if sampler.unheld() > 0 {
                found.push(
                    Finding::new(
                        "M007",
                        Severity::Warning,
                        format!("`{}`: launch latency is inside the samples", workload.id()),
                    )
                    .because(
                        "samples that could not be queued ahead",
                        sampler.unheld().to_string(),
                    ),
                );
            }
            rows.push(row(
                workload.as_ref(),
                device,
                parameters,
                measurement,
                Vec::new(),
            )?);
        }
        Ok(rows)
    }

    fn trajectories(
        &self,
        global: &Global,
        workloads: &[Box<dyn Workload>],
        device: &Device,
        steps: usize,
    ) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for workload in workloads {
            let parameters = Parameters::resolve(workload.parameters(), &self.settings)?;
            let sampler = RunSampler::new(device, RunMode::EndToEnd)?;
            let mut target = sampler.target(workload.prepare(device, &parameters, 1)?)?;
            let budget = warpsmith_measure::leak::detector::LeakPlan::default().budget;
            let done = trajectory::run(
                workload.id(),
                &sampler,
                &mut target,
                device,
                steps,
                budget,
                &mut |step| {
                    output::progress(
                        global,
                        &format!("{}  step {step} of {steps}", workload.id()),
                    );
                },
            )?;
            if let Some(path) = &self.trace {
                output::write_file(path, &trace::trajectory(Vec::new(), &done)?)?;
                output::note(global, &format!("wrote {}", path.display()));
            }
            rows.push(row(
                workload.as_ref(),
                device,
                parameters,
                done.measurement,
                done.memory,
            )?);
        }
        Ok(rows)
    }
}

fn row(
    workload: &dyn Workload,
    device: &Device,
    parameters: Parameters,
    measurement: Measurement,
    memory: Vec<MemorySeries>,
) -> Result<Row> {
    let Some(figures) = measurement.figures() else {
        bail!("`{}` gave no samples", workload.id());
    };
    let cost = workload.cost(&parameters);
    Ok(Row {
        workload: workload.id(),
        bytes: cost.bytes.0,
        flops: cost.flops.0,
        parameters,
        device: device.name().to_owned(),
        measurement,
        figures,
        memory,
    })
}

fn describe(rows: &[Row]) -> String {
    let pairs: Vec<_> = rows
        .iter()
        .map(|row| (&row.measurement, &row.figures))
        .collect();
    let mut rates = Table::new(&["workload", "parameters", ">data rate", ">flop rate"]);
    for row in rows {
        let seconds = row.figures.interval.median;
        let rate = |count: u64, text: String| if count == 0 { "-".to_owned() } else { text };
        rates.row([
            row.workload.to_owned(),
            row.parameters.to_string(),
            rate(
                row.bytes,
                BytesPerSecond(row.bytes as f64 / seconds).to_string(),
            ),
            rate(
                row.flops,
                format!("{}/s", Flops((row.flops as f64 / seconds) as u64)),
            ),
        ]);
    }
    let memory: Vec<MemorySeries> = rows.iter().flat_map(|row| row.memory.clone()).collect();
    let memory = if memory.is_empty() {
        String::new()
    } else {
        format!("\n{}", memory_table(&memory))
    };
    let device = rows.first().map_or("", |row| row.device.as_str());
    let mode = rows.first().map(|row| row.measurement.conditions.mode);
    let mode = mode
        .and_then(|mode| serde_json::to_value(mode).ok())
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default();
    format!(
        "{}\n{rates}{memory}\non {device}, mode {mode}\n",
        measured::table(&pairs)
    )
}

#[derive(Serialize)]
struct Listed {
    id: &'static str,
    summary: &'static str,
    parameters: Vec<ListedParameter>,
    techniques: Vec<&'static str>,
}

#[derive(Serialize)]
struct ListedParameter {
    name: &'static str,
    meaning: &'static str,
    default: String,
    range: String,
}

fn list(global: &Global, workloads: &[Box<dyn Workload>]) -> Result<Outcome> {
    let listed: Vec<Listed> = workloads
        .iter()
        .map(|workload| describe_one(workload.as_ref()))
        .collect();
    let report = output::report("bench --list", listed);
    output::print(global, &report, |listed| {
        let mut text = String::new();
        for workload in listed {
            text.push_str(&format!("{}\n  {}\n", workload.id, workload.summary));
            for parameter in &workload.parameters {
                text.push_str(&format!(
                    "    {}={}  {} ({})\n",
                    parameter.name, parameter.default, parameter.meaning, parameter.range
                ));
            }
            if !workload.techniques.is_empty() {
                text.push_str(&format!(
                    "    techniques: {}\n",
                    workload.techniques.join(", ")
                ));
            }
        }
        text
    })?;
    if global.format == Format::Human {
        output::note(global, &format!("{} workloads", workloads.len()));
    }
    Ok(Outcome::Fine)
}

fn describe_one(workload: &dyn Workload) -> Listed {
    let parameters = workload.parameters().iter().map(|spec| ListedParameter {
        name: spec.name,
        meaning: spec.meaning,
        default: spec.kind.default().to_string(),
        range: match spec.kind {
            ParameterKind::Integer { min, max, .. } => format!("{min} to {max}"),
            ParameterKind::Choice(words) => words.join(", "),
        },
    });
    Listed {
        id: workload.id(),
        summary: workload.summary(),
        parameters: parameters.collect(),
        techniques: workload
            .techniques()
            .iter()
            .map(|technique| technique.name)
            .collect(),
    }
}
