//! `warpsmith compare`: whether B is slower, faster or the same as A.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use warpsmith_core::{Finding, Severity};
use warpsmith_device::Device;
use warpsmith_measure::ablation::{Setting, compare_settings};
use warpsmith_measure::comparison::evaluation::{Evaluation, Verdict, evaluate};
use warpsmith_measure::comparison::mann_whitney::{MannWhitney, mann_whitney};
use warpsmith_measure::comparison::paired_rounds::ComparisonPlan;
use warpsmith_measure::comparison::unpaired::block_log_ratios;
use warpsmith_measure::findings;
use warpsmith_measure::import;
use warpsmith_measure::measurement::Measurement;
use warpsmith_measure::report::html::Section;
use warpsmith_measure::report::plot::{self, ForestRow};
use warpsmith_measure::run_sampler::RunMode;
use warpsmith_workload::Parameters;

use super::baselines;
use crate::catalogue;
use crate::exit::Outcome;
use crate::global::Global;
use crate::measured::{self, Files};
use crate::output;
use crate::paired_commands::compare_commands;
use crate::table::Table;

/// Compare two sets of samples, two commands, two settings of a workload, or two baselines.
#[derive(Args)]
#[command(after_help = "Examples:\n  warpsmith compare base.json new.json\n  \
    warpsmith compare --command './old 100' --command './new 100'\n  \
    warpsmith compare --workload machine/launch --a what=series --b what=graph --device cuda\n\n\
    Files may come from `baseline --json`, `--save`, nvbench, Criterion, hyperfine, Google Benchmark or \
    pytest-benchmark.\nExit code 0: same or faster; 1: slower, or not enough data to say.")]
pub(crate) struct Compare {
    /// Two files of samples, A (the base) and B.
    #[arg(num_args = 2, value_names = ["A", "B"], conflicts_with_all = ["command", "workload"])]
    files_to_compare: Vec<PathBuf>,
    /// A command line for `sh -c`; give it twice, A first. Runs alternate.
    #[arg(long, value_name = "LINE", conflicts_with = "workload")]
    command: Vec<String>,
    /// A workload whose settings `--a` and `--b` are compared. Runs alternate.
    #[arg(long)]
    workload: Option<String>,
    /// A parameter of side A, `name=value`.
    #[arg(long, value_name = "NAME=VALUE", value_parser = catalogue::parse_setting, requires = "workload")]
    a: Vec<(String, String)>,
    /// A parameter of side B, `name=value`.
    #[arg(long, value_name = "NAME=VALUE", value_parser = catalogue::parse_setting, requires = "workload")]
    b: Vec<(String, String)>,
    /// Differences up to this many percent do not matter.
    #[arg(long, default_value_t = 1.0)]
    margin: f64,
    /// Between two baselines: differences below this many percent do not matter (points, where a
    /// quantity is a share); each quantity has its own threshold where this is not given.
    #[arg(long, value_name = "PERCENT")]
    threshold: Option<f64>,
    /// Compare baselines of different machines anyway.
    #[arg(long)]
    any_machine: bool,
    #[command(flatten)]
    files: Files,
}

#[derive(Serialize)]
struct Row {
    name: String,
    evaluation: Evaluation,
    ranks: Option<MannWhitney>,
    log_ratios: Vec<f64>,
    a: Measurement,
    b: Measurement,
}

impl Compare {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let global = &self.files.check(global, &[])?;
        if let [a, b] = &self.files_to_compare[..]
            && let Some(baselines) = baselines::read_both(a, b)?
        {
            return baselines::run(global, baselines, self.threshold, self.any_machine);
        }
        let plan = ComparisonPlan {
            margin: self.margin / 100.0,
            ..ComparisonPlan::default()
        };
        let mut notes = Vec::new();
        let rows = if let Some(workload) = &self.workload {
            vec![self.workload_settings(global, workload, &plan)?]
        } else if !self.command.is_empty() {
            vec![self.commands(global, &plan)?]
        } else if let [a, b] = &self.files_to_compare[..] {
            notes.push(Finding::new(
                "M012",
                Severity::Info,
                "the two runs were not interleaved; what changed between them is inside the ratio",
            ));
            compare_files(a, b, plan.margin)?
        } else {
            bail!("nothing to compare: give two files, `--command` twice, or `--workload`");
        };
        output::progress(global, "");
        let found = rows
            .iter()
            .filter_map(|row| findings::of_evaluation(&row.name, &row.evaluation));
        notes.extend(found);
        let fine = rows
            .iter()
            .all(|row| matches!(row.evaluation.verdict, Verdict::Same | Verdict::Faster));
        let mut report = output::report("compare", rows);
        report.findings = notes;
        let rows = &report.body;
        let samples: Vec<_> = rows.iter().flat_map(|row| [&row.a, &row.b]).collect();
        let sections = || page_sections(rows, plan.margin);
        self.files
            .write(global, "compare", &samples, sections, &report)?;
        output::print(global, &report, |rows| describe(rows))?;
        Ok(Outcome::fine_if(fine))
    }

    fn workload_settings(&self, global: &Global, id: &str, plan: &ComparisonPlan) -> Result<Row> {
        let workloads = catalogue::choose(&[id.to_owned()])?;
        let [workload] = &workloads[..] else {
            bail!("`--workload` takes one; `{id}` names {}", workloads.len());
        };
        let device = Device::open(global.device)?;
        device.warm_up()?;
        let resolve = |settings| Parameters::resolve(workload.parameters(), settings);
        let (a, b) = (resolve(&self.a)?, resolve(&self.b)?);
        output::progress(global, workload.id());
        let name = format!("{a} → {b}");
        let row = compare_settings(
            workload.as_ref(),
            &device,
            &name,
            Setting::AloneOnBase,
            &a,
            &b,
            RunMode::Warm,
            plan,
        )?;
        Ok(Row {
            name,
            evaluation: row.evaluation,
            ranks: row.comparison.ranks,
            log_ratios: row.comparison.log_ratios,
            a: row.comparison.a,
            b: row.comparison.b,
        })
    }

    fn commands(&self, global: &Global, plan: &ComparisonPlan) -> Result<Row> {
        let [a, b] = &self.command[..] else {
            bail!(
                "`--command` is given {} times; two are compared",
                self.command.len()
            );
        };
        let done = compare_commands(global, a, b, plan)?;
        Ok(Row {
            name: b.clone(),
            evaluation: done.evaluation,
            ranks: done.ranks,
            log_ratios: done.log_ratios,
            a: done.a,
            b: done.b,
        })
    }
}

/// Compares the benchmarks that two files have in common, by name; or the only ones they have.
fn compare_files(a: &Path, b: &Path, margin: f64) -> Result<Vec<Row>> {
    let read = |path: &Path| {
        import::read(path).with_context(|| format!("cannot compare `{}`", path.display()))
    };
    let (from_a, from_b) = (read(a)?, read(b)?);
    let single = from_a.len() == 1 && from_b.len() == 1;
    let mut rows = Vec::new();
    for one in &from_a {
        for other in from_b
            .iter()
            .filter(|other| single || other.name == one.name)
        {
            let log_ratios = block_log_ratios(&one.seconds, &other.seconds);
            rows.push(Row {
                name: other.name.clone(),
                evaluation: evaluate(&log_ratios, margin, 0.05),
                ranks: mann_whitney(&one.seconds, &other.seconds),
                log_ratios,
                a: one.clone(),
                b: other.clone(),
            });
        }
    }
    if rows.is_empty() {
        bail!(
            "`{}` and `{}` have no benchmark in common ({} and {} read)",
            a.display(),
            b.display(),
            from_a.len(),
            from_b.len()
        );
    }
    let mut evaluations: Vec<Evaluation> = rows.iter().map(|row| row.evaluation).collect();
    warpsmith_measure::comparison::candidates::correct_for_several(&mut evaluations);
    for (row, evaluation) in rows.iter_mut().zip(evaluations) {
        row.evaluation = evaluation;
    }
    Ok(rows)
}

fn page_sections(rows: &[Row], margin: f64) -> Vec<Section> {
    let forest: Vec<ForestRow<'_>> = rows
        .iter()
        .map(|row| ForestRow::of(&row.name, &row.evaluation))
        .collect();
    let mut sections = vec![Section {
        heading: "ratios".to_owned(),
        text: describe(rows),
        plots: vec![plot::forest("B / A", &forest, margin)],
    }];
    for side in rows.iter().flat_map(|row| [&row.a, &row.b]) {
        if let Some(figures) = side.figures() {
            sections.push(measured::section(side, &figures));
        }
    }
    sections
}

fn describe(rows: &[Row]) -> String {
    let mut table = Table::new(&[
        "what",
        "verdict",
        ">B / A",
        ">interval",
        ">confidence",
        ">rounds",
        ">P(B>A)",
        ">rank p",
    ]);
    for row in rows {
        let evaluation = &row.evaluation;
        table.row([
            row.name.clone(),
            evaluation.verdict.to_string(),
            format!("{:.4}", evaluation.ratio),
            format!("{:.4} to {:.4}", evaluation.low, evaluation.high),
            format!("{:.1} %", 100.0 * evaluation.confidence),
            evaluation.rounds.to_string(),
            row.ranks.map_or("-".to_owned(), |r| {
                format!("{:.2}", r.probability_b_greater)
            }),
            row.ranks
                .map_or("-".to_owned(), |r| format!("{:.1e}", r.p_value)),
        ]);
    }
    table.to_string()
}
