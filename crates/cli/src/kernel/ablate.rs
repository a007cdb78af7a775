//! `warpsmith ablate`: what each technique of a workload is worth.

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use warpsmith_core::Bytes;
use warpsmith_device::Device;
use warpsmith_measure::ablation::{AblationRow, Setting, ablate};
use warpsmith_measure::comparison::paired_rounds::ComparisonPlan;
use warpsmith_measure::report::html::Section;
use warpsmith_measure::report::plot::{self, ForestRow};
use warpsmith_measure::run_sampler::RunMode;

use warpsmith_console::catalogue;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::measured::Files;
use warpsmith_console::numbers;
use warpsmith_console::output;
use warpsmith_console::table::Table;

/// Turn each technique of a workload on and off, in paired rounds.
#[derive(Args)]
#[command(
    after_long_help = "Examples:\n  warpsmith ablate machine/launch --device cuda\n  \
    warpsmith ablate machine/launch --html ablation.html"
)]
pub(crate) struct Ablate {
    /// The workload.
    workload: String,
    /// Set a parameter that is not a technique, `name=value`.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = catalogue::parse_setting)]
    settings: Vec<(String, String)>,
    /// Differences up to this much do not matter.
    #[arg(long, default_value_t = 1.0, value_name = "PERCENT", value_parser = numbers::percent, allow_negative_numbers = true)]
    margin: f64,
    /// Time from the call to the end of the wait, instead of the work on the device alone.
    #[arg(long)]
    end_to_end: bool,
    #[command(flatten)]
    files: Files,
}

#[derive(Serialize)]
struct Body {
    workload: &'static str,
    device: String,
    rows: Vec<AblationRow>,
}

impl Ablate {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let global = &self.files.check(global, &[])?;
        let workloads = catalogue::choose(std::slice::from_ref(&self.workload))?;
        let [workload] = &workloads[..] else {
            bail!(
                "`ablate` takes one workload; `{}` names {}",
                self.workload,
                workloads.len()
            );
        };
        if workload.techniques().is_empty() {
            bail!("`{}` has no techniques to turn on and off", workload.id());
        }
        let device = Device::open(global.device)?;
        device.warm_up()?;
        let plan = ComparisonPlan {
            margin: self.margin / 100.0,
            ..ComparisonPlan::default()
        };
        let mode = if self.end_to_end {
            RunMode::EndToEnd
        } else {
            RunMode::Warm
        };
        let rows = ablate(
            workload.as_ref(),
            &device,
            &self.settings,
            mode,
            &plan,
            &mut |name| {
                output::progress(global, name);
            },
        )?;
        output::progress(global, "");
        let report = output::report(
            "ablate",
            Body {
                workload: workload.id(),
                device: device.name().to_owned(),
                rows,
            },
        );
        let body = &report.body;
        let samples: Vec<_> = body
            .rows
            .iter()
            .flat_map(|row| [&row.comparison.a, &row.comparison.b])
            .collect();
        let sections = || {
            let names: Vec<String> = body.rows.iter().map(name).collect();
            let forest: Vec<ForestRow<'_>> = body
                .rows
                .iter()
                .zip(&names)
                .map(|(row, name)| ForestRow::of(name, &row.evaluation))
                .collect();
            vec![Section {
                heading: body.workload.to_owned(),
                text: describe(body),
                plots: vec![plot::forest("changed / unchanged", &forest, plan.margin)],
            }]
        };
        let written = self.files.write(
            global,
            &format!("ablate: {}", body.workload),
            &samples,
            sections,
            &report,
        );
        output::print(global, &report, describe)?;
        // A file that cannot be written loses nothing: the result stands above.
        written?;
        let wrong = body.rows.iter().any(|row| row.output_agrees == Some(false));
        Ok(Outcome::fine_if(!wrong))
    }
}

fn name(row: &AblationRow) -> String {
    match row.setting {
        Setting::AloneOnBase => format!("{} alone", row.technique),
        Setting::MissingFromFull => format!("without {}", row.technique),
        Setting::FullOnBase => "all".to_owned(),
    }
}

fn describe(body: &Body) -> String {
    let mut table = Table::new(&[
        "change",
        "verdict",
        ">time ratio",
        ">interval",
        ">memory",
        ">max difference",
        "output",
    ]);
    for row in &body.rows {
        let evaluation = &row.evaluation;
        table.row([
            name(row),
            evaluation.verdict.to_string(),
            format!("{:.3}", evaluation.ratio),
            format!("{:.3} to {:.3}", evaluation.low, evaluation.high),
            match row.memory_bytes {
                Some(bytes) => format!(
                    "{}{}",
                    if bytes < 0 { "-" } else { "+" },
                    Bytes(bytes.unsigned_abs())
                ),
                None => "-".to_owned(),
            },
            row.output_difference
                .map_or("-".to_owned(), |d| format!("{d:.1e}")),
            match row.output_agrees {
                Some(true) => "agrees".to_owned(),
                Some(false) => "DISAGREES".to_owned(),
                None => "-".to_owned(),
            },
        ]);
    }
    format!(
        "{table}\n`{}` on {}; ratios below 1 are faster; verdicts corrected for their number\n",
        body.workload, body.device
    )
}
