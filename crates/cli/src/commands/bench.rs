//! `warpsmith bench`: the workloads, and how long they take.

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use warpsmith_core::{BytesPerSecond, Seconds};
use warpsmith_device::Device;
use warpsmith_measure::{ParameterKind, Parameters, RunTimes, Workload, time_runs};

use crate::arguments::{Format, Global};
use crate::catalogue;
use crate::exit::Outcome;
use crate::output;
use crate::table::Table;

/// Measure workloads, or list them.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  warpsmith bench --list\n  warpsmith bench device/saxpy\n  \
                        warpsmith bench device/saxpy --device cuda --set n=64M"
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
    /// Runs to time, after a tenth as many to warm up.
    #[arg(long, default_value_t = 50)]
    samples: usize,
}

#[derive(Serialize)]
struct Row {
    workload: &'static str,
    parameters: Parameters,
    device: String,
    /// Bytes that one run must at least move.
    bytes: u64,
    samples: RunTimes,
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
        let mut rows = Vec::new();
        for workload in &workloads {
            output::progress(global, workload.id());
            let parameters = Parameters::resolve(workload.parameters(), &self.settings)?;
            let mut prepared = workload.prepare(&device, &parameters, 1)?;
            let samples = self.samples.max(1);
            let warm_up = samples.div_ceil(10);
            let times = time_runs(prepared.as_mut(), device.cuda(), warm_up, samples)?;
            rows.push(Row {
                workload: workload.id(),
                bytes: workload.cost(&parameters).bytes.0,
                parameters,
                device: device.name().to_owned(),
                samples: times,
            });
        }
        output::progress(global, "");
        output::print(global, &output::report("bench", rows), |rows| {
            describe(rows)
        })?;
        Ok(Outcome::Fine)
    }
}

fn describe(rows: &[Row]) -> String {
    let mut table = Table::new(&[
        "workload",
        "parameters",
        ">wall",
        ">p5",
        ">p95",
        ">device",
        ">rate",
        ">runs",
    ]);
    for row in rows {
        let wall = sorted(&row.samples.wall);
        let device = sorted(&row.samples.device);
        let best = if device.is_empty() {
            quantile(&wall, 0.5)
        } else {
            quantile(&device, 0.5)
        };
        let time = |seconds: f64| Seconds(seconds).to_string();
        table.row([
            row.workload.to_owned(),
            row.parameters.to_string(),
            time(quantile(&wall, 0.5)),
            time(quantile(&wall, 0.05)),
            time(quantile(&wall, 0.95)),
            if device.is_empty() {
                "-".to_owned()
            } else {
                time(quantile(&device, 0.5))
            },
            if row.bytes == 0 {
                "-".to_owned()
            } else {
                BytesPerSecond(row.bytes as f64 / best).to_string()
            },
            wall.len().to_string(),
        ]);
    }
    let device = rows.first().map_or("", |row| row.device.as_str());
    format!("{table}\nmedians of single runs on {device}; wall includes the wait\n")
}

/// The samples in rising order.
pub(crate) fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The sample at quantile `q`; `sorted` is not empty.
pub(crate) fn quantile(sorted: &[f64], q: f64) -> f64 {
    let position = q * (sorted.len() - 1) as f64;
    sorted[position.round() as usize]
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
