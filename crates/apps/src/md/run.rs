//! `warpsmith md run`: a trajectory with its figures along the way.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;
use warpsmith_core::{Bytes, Finding, Severity};
use warpsmith_device::Device;
use warpsmith_formats::{OutputFile, check_vacant};
use warpsmith_md::{
    Checkpoint, MdError, Precision, Settings, Thermodynamics, Thermostat, drift_finding, of_error,
    write_frame,
};
use warpsmith_wisdom::Problem;

use super::start::{Start, Started};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output;
use warpsmith_console::placement::{Decision, Placement};
use warpsmith_console::table::Table;

/// Run a Lennard-Jones trajectory; reduced units.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith md run --atoms 4000 --steps 2000
  warpsmith md run --atoms 1048576 --steps 500 --device cuda
  warpsmith md run --thermostat langevin --temperature 0.85 --density 0.776 --steps 5000
  warpsmith md run --input start.xyz --truncation force-shift --precision f64
  warpsmith md run --steps 1000 --checkpoint a.ckpt && warpsmith md run --restart a.ckpt --steps 1000

A restart continues bit for bit. Exit code 1 means that atoms overlap, are not numbers, or that the
trajectory blew up or drifted; the finding says which.")]
pub(crate) struct Run {
    #[command(flatten)]
    start: Start,
    /// Steps to go.
    #[arg(long, default_value_t = 1000)]
    steps: u64,
    /// Steps between lines of the table.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,
    /// Write frames to this extended XYZ file.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file of frames if it exists.
    #[arg(long, requires = "output")]
    force: bool,
    /// Steps between frames; the last step is always one.
    #[arg(hide_short_help = true, long, value_name = "STEPS", requires = "output", value_parser = clap::value_parser!(u64).range(1..))]
    frame_every: Option<u64>,
    /// Write a checkpoint to this file at the end.
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Steps between checkpoints, each in the place of the one before.
    #[arg(hide_short_help = true, long, value_name = "STEPS", requires = "checkpoint", value_parser = clap::value_parser!(u64).range(1..))]
    checkpoint_every: Option<u64>,
    /// Print what each device was predicted to take, in parts, and where the numbers come from.
    #[arg(long)]
    explain: bool,
}

#[derive(Serialize)]
struct Body {
    device: String,
    arithmetic: String,
    atoms: usize,
    settings: Settings,
    /// Figures every so many steps, the first before the first step.
    rows: Vec<Thermodynamics>,
    /// Steps that this run made.
    steps: u64,
    /// Time of the steps alone, without figures and files.
    seconds: f64,
    memory_bytes: u64,
    /// Trend of the total energy over the run, relative to its size; without a thermostat only.
    relative_drift: Option<f64>,
    decision: Decision,
}

impl Run {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let outputs = [
            ("--output", self.output.as_deref()),
            ("--checkpoint", self.checkpoint.as_deref()),
        ];
        let global = &output::check_outputs(global, &outputs)?;
        if let Some(path) = self.output.as_deref().filter(|_| !self.force) {
            check_vacant(path)?;
        }
        let source = match self.start.source(global) {
            Ok(source) => source,
            Err(error) => return refuse(global, error),
        };
        let problem = problem(source.atoms(), self.steps);
        let mut placement = Placement::of("md/lj")?;
        let exact = self.start.precision(&source) == Precision::F64;
        if exact {
            placement.gpus_are_inexact();
        }
        let (device, decision) = placement.decide(global, &problem, exact)?;
        let started = match self.start.open(&source, &device) {
            Ok(started) => started,
            Err(error) => return refuse(global, error),
        };
        let (body, findings) = self.follow(global, &device, started, decision)?;
        if body.steps == self.steps && self.steps > 0 {
            placement.learn(global, &body.decision, &problem.resident(), body.seconds);
        }
        let mut report = output::report("md run", body);
        let fine = findings
            .iter()
            .all(|finding| finding.severity < Severity::Error && finding.code != "T004");
        report.findings = findings;
        output::print(global, &report, |body| describe(body, self.explain))?;
        Ok(Outcome::fine_if(fine))
    }

    /// Goes through the steps, with figures, frames and checkpoints where they are due.
    fn follow(
        &self,
        global: &Global,
        device: &Device,
        started: Started,
        decision: Decision,
    ) -> Result<(Body, Vec<Finding>)> {
        let Started {
            mut engine,
            settings,
            precision,
            atoms,
            mut findings,
        } = started;
        let begin = engine.step();
        let end = begin.saturating_add(self.steps);
        let mut frames = self.output.as_deref().map(OutputFile::create).transpose()?;
        let mut rows = vec![engine.thermodynamics()?];
        let mut seconds = 0.0;
        while engine.step() < end {
            let step = engine.step();
            let due = |every: Option<u64>| every.map_or(end, |every| (step / every + 1) * every);
            let next = [
                due(Some(self.every)),
                due(self.frame_every),
                due(self.checkpoint_every),
            ]
            .into_iter()
            .fold(end, u64::min);
            let clock = Instant::now();
            let advanced = engine.advance(next - step);
            seconds += clock.elapsed().as_secs_f64();
            if let Err(error) = advanced {
                findings.push(of_error(&error).ok_or(error)?);
                break;
            }
            let is_due = |every: u64| next == end || next.is_multiple_of(every);
            if is_due(self.every) {
                rows.push(engine.thermodynamics()?);
            }
            if let Some(frames) = &mut frames
                && is_due(self.frame_every.unwrap_or(end.max(1)))
            {
                let time = next as f64 * settings.time_step;
                write_frame(frames, &engine.atoms()?, next, time)
                    .with_context(|| format!("cannot write `{}`", frames.path().display()))?;
            }
            if let Some(path) = &self.checkpoint
                && is_due(self.checkpoint_every.unwrap_or(end.max(1)))
            {
                Checkpoint::write(path, &engine.state()?)?;
            }
            let rate = (next - begin) as f64 / seconds;
            let left = (end - next) as f64 / rate;
            output::progress(
                global,
                &format!("step {next} of {end}, {rate:.0} steps/s, {left:.0} s left"),
            );
        }
        output::progress(global, "");
        if let Some(frames) = frames {
            frames.finish()?;
        }
        let relative_drift = (settings.thermostat == Thermostat::None)
            .then(|| relative_drift(&rows))
            .flatten();
        let limit = match precision {
            Precision::F32 => 1e-4,
            Precision::F64 => 1e-5,
        };
        findings.extend(relative_drift.and_then(|drift| drift_finding(drift, limit)));
        let body = Body {
            device: device.name().to_owned(),
            arithmetic: engine.arithmetic(),
            atoms,
            settings,
            rows,
            steps: engine.step() - begin,
            seconds,
            memory_bytes: engine.memory_bytes(),
            relative_drift,
            decision,
        };
        Ok((body, findings))
    }
}

/// The run as the chooser sees it: an atom holds some 100 neighbours and a dozen numbers.
fn problem(atoms: usize, steps: u64) -> Problem {
    let atoms = atoms as f64;
    Problem {
        size: atoms,
        passes: steps as f64,
        footprint: 600.0 * atoms,
        bytes_in: 24.0 * atoms,
        bytes_out: 24.0 * atoms,
    }
}

/// Atoms that cannot be simulated are a finding about them, not a failure of the program.
fn refuse(global: &Global, error: anyhow::Error) -> Result<Outcome> {
    let Some(finding) = error.downcast_ref::<MdError>().and_then(of_error) else {
        return Err(error);
    };
    let mut report = output::report("md run", serde_json::json!({ "rows": [] }));
    report.findings.push(finding);
    output::print(global, &report, |_| String::new())?;
    Ok(Outcome::NotFine)
}

/// Slope of the total energy over the later half of the rows (the start is no equilibrium), times
/// the time they span, over the energy's size. `None` where there are too few rows.
fn relative_drift(rows: &[Thermodynamics]) -> Option<f64> {
    let rows = &rows[rows.len() / 2..];
    if rows.len() < 4 {
        return None;
    }
    let count = rows.len() as f64;
    let time = rows.iter().map(|row| row.time).sum::<f64>() / count;
    let energy = rows.iter().map(|row| row.total).sum::<f64>() / count;
    let above: f64 = rows
        .iter()
        .map(|row| (row.time - time) * (row.total - energy))
        .sum();
    let below: f64 = rows.iter().map(|row| (row.time - time).powi(2)).sum();
    let span = rows[rows.len() - 1].time - rows[0].time;
    Some(above / below * span / energy.abs())
}

fn describe(body: &Body, explain: bool) -> String {
    let mut table = Table::new(&[
        ">step",
        ">time",
        ">temperature",
        ">E_pot",
        ">E_kin",
        ">E_total",
        ">pressure",
        ">momentum",
    ]);
    for row in &body.rows {
        table.row([
            row.step.to_string(),
            format!("{:.3}", row.time),
            format!("{:.6}", row.temperature),
            format!("{:.7}", row.potential),
            format!("{:.7}", row.kinetic),
            format!("{:.7}", row.total),
            format!("{:.6}", row.pressure),
            format!("{:.1e}", row.momentum),
        ]);
    }
    let rate = body.steps as f64 / body.seconds;
    let updates = rate * body.atoms as f64 / 1e6;
    let speed = if body.steps > 0 {
        format!("{rate:.0} steps/s, {updates:.2} Matom-steps/s")
    } else {
        "no steps".to_owned()
    };
    let drift = match body.relative_drift {
        Some(drift) => format!(", drift {drift:.1e} of the energy"),
        None => String::new(),
    };
    let explained = match explain {
        true => body.decision.explain(),
        false => String::new(),
    };
    format!(
        "{explained}{table}\n{} atoms on {} ({}): {speed}, {} held{drift}\n",
        body.atoms,
        body.device,
        body.arithmetic,
        Bytes(body.memory_bytes),
    )
}
