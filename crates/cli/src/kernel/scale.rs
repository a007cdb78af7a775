//! `warpsmith scale`: how a workload's time grows with its size.

use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use warpsmith_core::Seconds;
use warpsmith_device::Device;
use warpsmith_measure::findings;
use warpsmith_measure::measurement::Measurement;
use warpsmith_measure::report::html::Section;
use warpsmith_measure::report::plot;
use warpsmith_measure::run_sampler::RunMode;
use warpsmith_measure::scaling::{self, FEWEST_POINTS, Scaling, SizePoint};
use warpsmith_measure::size_study::{SizeRow, SizeStudy};
use warpsmith_measure::statistics::stop_rule::StopPlan;
use warpsmith_workload::Parameters;

use crate::catalogue;
use crate::exit::Outcome;
use crate::global::Global;
use crate::measured::{self, Files};
use crate::numbers;
use crate::output;
use crate::table::Table;

/// Measure a workload at several sizes and fit a + b·f(N).
#[derive(Args)]
#[command(after_long_help = "Examples:\n  \
    warpsmith scale machine/saxpy\n  \
    warpsmith scale machine/saxpy --sizes 1K,4K,16K,64K,256K,1M,4M,16M\n  \
    warpsmith scale machine/saxpy --device cuda --sizes 1K,8K,64K,512K,4M,32M,64M,128M --html s.html")]
pub(crate) struct Scale {
    /// The workload.
    workload: String,
    /// Sizes, separated by commas; `K`, `M` and `G` are powers of 1024. The workload's own where it
    /// names some.
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    sizes: Vec<String>,
    /// The parameter that is the size; the workload's own, else `n`.
    #[arg(long, value_name = "NAME")]
    parameter: Option<String>,
    /// Set another parameter, `name=value`.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = catalogue::parse_setting)]
    settings: Vec<(String, String)>,
    /// Stop a size after this long.
    #[arg(long, alias = "timeout", default_value = "5s", value_name = "TIME", value_parser = numbers::seconds)]
    budget: f64,
    #[command(flatten)]
    files: Files,
}

#[derive(Serialize)]
struct Body {
    workload: &'static str,
    unit: &'static str,
    rows: Vec<SizeRow>,
    scaling: Scaling,
}

impl Scale {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let global = &self.files.check(global, &[])?;
        let workloads = catalogue::choose(std::slice::from_ref(&self.workload))?;
        let [workload] = &workloads[..] else {
            bail!(
                "`scale` takes one workload; `{}` names {}",
                self.workload,
                workloads.len()
            );
        };
        let own = workload.sizes();
        let sizes: Vec<&str> = match (&self.sizes[..], &own) {
            ([], Some(own)) => own.values.to_vec(),
            ([], None) => bail!(
                "`{}` names no sizes of its own; give --sizes",
                workload.id()
            ),
            (given, _) => given.iter().map(String::as_str).collect(),
        };
        if sizes.len() < FEWEST_POINTS {
            bail!(
                "{} sizes cannot show a law; give at least {FEWEST_POINTS}, better 8",
                sizes.len()
            );
        }
        let device = Device::open(global.device)?;
        device.warm_up()?;
        let study = SizeStudy {
            workload: workload.as_ref(),
            device: &device,
            mode: RunMode::Warm,
            parameter: match (&self.parameter, &own) {
                (Some(given), _) => given,
                (None, Some(own)) => own.parameter,
                (None, None) => "n",
            },
            settings: &self.settings,
            plan: StopPlan {
                timeout: Duration::try_from_secs_f64(self.budget)?,
                ..StopPlan::default()
            },
        };
        let mut rows = Vec::new();
        for size in sizes {
            rows.push(study.measure(size, &mut |name, progress| {
                measured::show_progress(global, name, study.plan.target, progress);
            })?);
        }
        output::progress(global, "");
        let points: Vec<SizePoint> = rows.iter().map(SizeRow::point).collect();
        let Some(scaling) = scaling::fit(&points) else {
            bail!("no law fits: sizes must be above 1 and different from one another");
        };
        let finding = findings::of_scaling(workload.id(), &scaling);
        let mut report = output::report(
            "scale",
            Body {
                workload: workload.id(),
                unit: workload
                    .cost(&Parameters::resolve(workload.parameters(), &[])?)
                    .unit,
                rows,
                scaling,
            },
        );
        report.findings.extend(finding);
        let body = &report.body;
        let measurements: Vec<&Measurement> =
            body.rows.iter().map(|row| &row.measurement).collect();
        let sections = || {
            let mut sections = vec![Section {
                heading: body.workload.to_owned(),
                text: describe(body),
                plots: vec![plot::scaling("time over size", &body.scaling)],
            }];
            sections.extend(
                body.rows
                    .iter()
                    .map(|row| measured::section(&row.measurement, &row.figures)),
            );
            sections
        };
        self.files.write(
            global,
            &format!("scale: {}", body.workload),
            &measurements,
            sections,
            &report,
        )?;
        output::print(global, &report, describe)?;
        Ok(Outcome::Fine)
    }
}

fn describe(body: &Body) -> String {
    let per_unit = format!(">per {}", body.unit);
    let mut table = Table::new(&[
        ">N",
        ">median",
        ">95 % interval",
        &per_unit,
        ">fit",
        ">samples",
    ]);
    for row in &body.rows {
        let interval = &row.figures.interval;
        table.row([
            row.size.to_string(),
            Seconds(interval.median).to_string(),
            format!(
                "±{:.2} %",
                50.0 * (interval.high - interval.low) / interval.median
            ),
            Seconds(interval.median / row.units.max(1) as f64).to_string(),
            Seconds(body.scaling.chosen.seconds(row.size as f64)).to_string(),
            row.figures.summary.count.to_string(),
        ]);
    }
    let scaling = &body.scaling;
    let (exponent, low, high) = scaling.exponent;
    let law = if scaling.is_certain() {
        format!("grows as {}", scaling.chosen.law.name())
    } else {
        let rivals: Vec<_> = scaling.rivals.iter().map(|law| law.name()).collect();
        format!(
            "cannot tell the law: {} fits{}",
            scaling.chosen.law.name(),
            if rivals.is_empty() {
                String::new()
            } else {
                format!(", and so do {}", rivals.join(", "))
            }
        )
    };
    let balance = match scaling.balance_size {
        Some(size) => format!("; overhead and work are equal at N = {size:.0}"),
        None => String::new(),
    };
    format!(
        "{table}\n{law}: {} + {:.3e} s · {} (fit error {:.1} %){balance}\n\
         exponent over the upper half {exponent:.2} ({low:.2} to {high:.2})\n",
        Seconds(scaling.chosen.overhead),
        scaling.chosen.coefficient,
        scaling.chosen.law.name(),
        100.0 * scaling.chosen.relative_error,
    )
}
