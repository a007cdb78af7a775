//! `warpsmith md table`: latency, memory and time per atom over sizes, in one table.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use serde::Serialize;
use warpsmith_core::{Bytes, Seconds};
use warpsmith_device::Device;
use warpsmith_md::{PEERS, held_bytes};
use warpsmith_measure::measurement::Measurement;
use warpsmith_measure::peers::time_peers;
use warpsmith_measure::run_sampler::{RunMode, RunSampler};
use warpsmith_measure::statistics::stop_rule::StopPlan;
use warpsmith_workload::{Parameters, Workload};

use warpsmith_console::catalogue;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::measured;
use warpsmith_console::numbers;
use warpsmith_console::output;
use warpsmith_console::table::Table;

/// Measure a call of the force field or a step of the fluid at several sizes.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith md table
  warpsmith md table --of lj --atoms 500,4000,32000
  warpsmith md table --device cuda --of network --atoms 50,100,200,500,1000
  warpsmith md table --python .venv/bin/python   # LAMMPS, OpenMM, ASE, GROMACS, PyTorch beside

Latency is from the call to the end of the wait, its median with the 95 % interval.")]
pub(crate) struct TableOfSizes {
    /// What to measure; default: both.
    #[arg(long, value_enum)]
    of: Option<Of>,
    /// Numbers of atoms, separated by commas.
    #[arg(long, value_delimiter = ',')]
    atoms: Option<Vec<u64>>,
    /// Stop a size after this long.
    #[arg(long, default_value = "5s", value_name = "TIME", value_parser = numbers::seconds)]
    budget: f64,
    /// A Python interpreter; the peers that it has are timed beside, one thread each on the CPU.
    #[arg(long, value_name = "FILE")]
    python: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Of {
    /// A call of the small neural force field.
    Network,
    /// A step of the Lennard-Jones fluid.
    Lj,
}

impl Of {
    fn id(self) -> &'static str {
        match self {
            Self::Network => "md/network",
            Self::Lj => "md/lj",
        }
    }

    fn sizes(self, on_gpu: bool) -> &'static [u64] {
        match (self, on_gpu) {
            (Self::Network, _) => &[50, 100, 200, 500, 1000],
            (Self::Lj, false) => &[500, 4000, 16_384, 32_000],
            (Self::Lj, true) => &[500, 4000, 32_000, 256_000, 1_048_576],
        }
    }
}

#[derive(Serialize)]
struct Row {
    workload: &'static str,
    /// The peer whose row it is; ours where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<String>,
    /// Atoms, and for the fluid the whole lattice that was made of them.
    atoms: u64,
    latency_seconds: f64,
    latency_low: f64,
    latency_high: f64,
    memory_bytes: u64,
    microseconds_per_atom: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    measurement: Option<Measurement>,
}

#[derive(Serialize)]
struct Body {
    device: String,
    rows: Vec<Row>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_run: Vec<NotRun>,
}

/// A peer that gave no time.
#[derive(Serialize)]
struct NotRun {
    peer: String,
    reason: String,
    atoms: Vec<u64>,
}

impl TableOfSizes {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let device = Device::open(global.device)?;
        device.warm_up()?;
        let kinds = match self.of {
            Some(of) => vec![of],
            None => vec![Of::Network, Of::Lj],
        };
        let (mut rows, mut not_run) = (Vec::new(), Vec::new());
        for of in kinds {
            let workloads = catalogue::choose(&[of.id().to_owned()])?;
            let sizes = self.atoms.as_deref();
            for &atoms in sizes.unwrap_or(of.sizes(device.cuda().is_some())) {
                for workload in &workloads {
                    let row = self.measure(global, &device, workload.as_ref(), atoms)?;
                    let atoms = row.atoms;
                    rows.push(row);
                    rows.extend(self.peers(global, workload.as_ref(), atoms, &mut not_run)?);
                }
            }
        }
        output::progress(global, "");
        let body = Body {
            device: device.name().to_owned(),
            rows,
            not_run,
        };
        output::print(global, &output::report("md table", body), describe)?;
        Ok(Outcome::Fine)
    }

    fn measure(
        &self,
        global: &Global,
        device: &Device,
        workload: &dyn Workload,
        atoms: u64,
    ) -> Result<Row> {
        let setting = ("n".to_owned(), atoms.to_string());
        let parameters = Parameters::resolve(workload.parameters(), &[setting])?;
        let mut sampler = RunSampler::new(device, RunMode::EndToEnd)?;
        let before = device.cuda().map(|gpu| gpu.ledger().stats().live);
        let prepared = workload.prepare(device, &parameters, 1)?;
        // On a GPU the ledger knows what was taken; on the CPU the workload itself says.
        let memory_bytes = match (device.cuda(), before) {
            (Some(gpu), Some(before)) => gpu.ledger().stats().live - before,
            _ => held_bytes(workload.id(), &parameters)?,
        };
        let mut target = sampler.target(prepared)?;
        let name = format!("{} n={atoms}", workload.id());
        let mut measurement = sampler.begin(&name, &target);
        let plan = StopPlan {
            timeout: Duration::try_from_secs_f64(self.budget)?,
            ..StopPlan::default()
        };
        sampler.measure_round(&mut measurement, &mut target, &plan, &mut |progress| {
            measured::show_progress(global, &name, plan.target, progress);
        })?;
        let Some(figures) = measurement.figures() else {
            bail!("`{name}` gave no samples");
        };
        let interval = figures.interval;
        let units = workload.cost(&parameters).units;
        Ok(Row {
            workload: workload.id(),
            peer: None,
            atoms: units,
            latency_seconds: interval.median,
            latency_low: interval.low,
            latency_high: interval.high,
            memory_bytes,
            microseconds_per_atom: 1e6 * interval.median / units.max(1) as f64,
            measurement: Some(measurement),
        })
    }

    /// The same by others; what is missing is noted, once for all sizes.
    fn peers(
        &self,
        global: &Global,
        workload: &dyn Workload,
        atoms: u64,
        not_run: &mut Vec<NotRun>,
    ) -> Result<Vec<Row>> {
        let Some(python) = &self.python else {
            return Ok(Vec::new());
        };
        output::progress(global, &format!("{} n={atoms}, peers", workload.id()));
        let kind = workload.id().trim_start_matches("md/");
        let peers = time_peers(python, PEERS, &[kind, &atoms.to_string()])
            .with_context(|| format!("cannot time peers with `{}`", python.display()))?;
        let mut rows = Vec::new();
        for peer in peers {
            let Some(seconds) = peer.seconds else {
                let (peer, reason) = (peer.name, peer.missing.unwrap_or_default());
                match not_run
                    .iter_mut()
                    .find(|known| known.peer == peer && known.reason == reason)
                {
                    Some(known) => known.atoms.push(atoms),
                    None => not_run.push(NotRun {
                        peer,
                        reason,
                        atoms: vec![atoms],
                    }),
                }
                continue;
            };
            rows.push(Row {
                workload: workload.id(),
                peer: Some(peer.name),
                atoms,
                latency_seconds: seconds,
                latency_low: f64::NAN,
                latency_high: f64::NAN,
                memory_bytes: peer.bytes.unwrap_or(0),
                microseconds_per_atom: 1e6 * seconds / atoms as f64,
                measurement: None,
            });
        }
        Ok(rows)
    }
}

fn describe(body: &Body) -> String {
    let mut table = Table::new(&[
        "workload",
        ">atoms",
        ">latency",
        ">95 % interval",
        ">memory",
        ">µs/atom",
    ]);
    for row in &body.rows {
        let half = 50.0 * (row.latency_high - row.latency_low) / row.latency_seconds;
        table.row([
            match &row.peer {
                Some(peer) => format!("  {peer}"),
                None => row.workload.to_owned(),
            },
            row.atoms.to_string(),
            Seconds(row.latency_seconds).to_string(),
            match half.is_finite() {
                true => format!("±{half:.2} %"),
                false if row.peer.is_some() => "-".to_owned(),
                false => "too few".to_owned(),
            },
            Bytes(row.memory_bytes).to_string(),
            format!("{:.4}", row.microseconds_per_atom),
        ]);
    }
    let mut text = format!("{table}\non {}\n", body.device);
    for NotRun {
        peer,
        reason,
        atoms,
    } in &body.not_run
    {
        let sizes: Vec<_> = atoms.iter().map(u64::to_string).collect();
        let _ = writeln!(
            text,
            "not run: {peer} at {} atoms: {reason}",
            sizes.join(", ")
        );
    }
    text
}
