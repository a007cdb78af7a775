//! `warpsmith compare`: whether B is slower, faster or the same as A.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use warpsmith_core::{Finding, Severity};
use warpsmith_device::Device;
use warpsmith_formats::write_output;
use warpsmith_measure::ablation::{Setting, compare_settings};
use warpsmith_measure::comparison::clock::ClockChoice;
use warpsmith_measure::comparison::evaluation::{Evaluation, Verdict};
use warpsmith_measure::comparison::mann_whitney::{MannWhitney, mann_whitney};
use warpsmith_measure::comparison::paired_rounds::{Comparison, ComparisonPlan};
use warpsmith_measure::comparison::stored::{
    Fitness, StoredComparison, StoredResult, compare_stored,
};
use warpsmith_measure::comparison::turns::{Conclusion, TurnsPlan};
use warpsmith_measure::findings;
use warpsmith_measure::import;
use warpsmith_measure::measurement::Measurement;
use warpsmith_measure::report::html::Section;
use warpsmith_measure::report::plot::{self, ForestRow};
use warpsmith_measure::run_sampler::RunMode;
use warpsmith_workload::Parameters;

use super::cases::{self, Compared};
use super::commands::Commands;
use super::git_revision::AtRevision;
use super::{baselines, markdown};
use crate::kernel::bench::Mode;
use crate::kernel::command_end::ended;
use warpsmith_console::catalogue;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::measured::{self, Files};
use warpsmith_console::numbers;
use warpsmith_console::output;
use warpsmith_console::table::Table;

/// Say whether B is slower, faster or the same as A.
///
/// A and B are cases of kernels, commands, files of samples, settings of a workload, or baselines.
///
/// Commands and settings run in turns. Wall time decides on a quiet machine. On a busy one the CPU
/// time of the whole process tree decides, if the work does nothing but compute. Where this user
/// may, commands get the largest share of the cores; `--ordinary-priority` leaves them theirs.
#[derive(Args)]
#[command(
    after_long_help = "Examples:\n  warpsmith compare softmax_naive.toml softmax_fast.toml --mode cold\n  \
    warpsmith compare softmax.toml --git HEAD~1\n  \
    warpsmith compare naive.py fast.py   # a Warp-style kernel each, at sizes that we guess\n  \
    warpsmith compare base.json new.json\n  \
    warpsmith compare --command './old 100' --command './new 100'\n  \
    warpsmith compare --command 'sort -S {size} words' -L size 1M,10M,100M --markdown sizes.md\n  \
    warpsmith compare --workload machine/launch --a what=series --b what=graph --device cuda\n\n\
    Files may come from `--save`, nvbench, Criterion, hyperfine, Google Benchmark or \
    pytest-benchmark.\nExit codes: 0 same or faster, 1 slower, 4 undecided."
)]
pub(crate) struct Compare {
    /// Two cases (`.toml`), measured in turns, or two files of samples; A is the base.
    #[arg(num_args = 1..=2, value_names = ["A", "B"], conflicts_with_all = ["command", "workload"], value_parser = inputs::file())]
    files_to_compare: Vec<PathBuf>,
    /// With one case: compare it with itself at this commit, which is the base.
    #[arg(long, value_name = "REV", requires = "files_to_compare")]
    git: Option<String>,
    #[command(flatten)]
    commands: Commands,
    /// A workload whose settings `--a` and `--b` are compared. Runs alternate.
    #[arg(long, value_name = "ID")]
    workload: Option<String>,
    /// A parameter of side A, `name=value`.
    #[arg(long, value_name = "NAME=VALUE", value_parser = catalogue::parse_setting, requires = "workload")]
    a: Vec<(String, String)>,
    /// A parameter of side B, `name=value`.
    #[arg(long, value_name = "NAME=VALUE", value_parser = catalogue::parse_setting, requires = "workload")]
    b: Vec<(String, String)>,
    /// Between two cases: what is timed.
    #[arg(long, value_enum, default_value_t = Mode::Warm)]
    mode: Mode,
    /// Differences up to this much do not matter.
    #[arg(long, default_value_t = 1.0, value_name = "PERCENT", value_parser = numbers::percent, allow_negative_numbers = true)]
    margin: f64,
    /// Decide within this time, or say that it is undecided.
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = numbers::seconds, allow_negative_numbers = true)]
    budget: f64,
    /// Also write the results as a Markdown table.
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Between two baselines: differences below this do not matter (points, where a quantity is a
    /// share). Default: each quantity has its own threshold.
    #[arg(hide_short_help = true, long, value_name = "PERCENT", value_parser = numbers::percent, allow_negative_numbers = true)]
    threshold: Option<f64>,
    /// Compare baselines of different machines anyway.
    #[arg(hide_short_help = true, long)]
    any_machine: bool,
    #[command(flatten)]
    files: Files,
}

/// One candidate against its base.
#[derive(Serialize)]
pub(super) struct Row {
    name: String,
    /// Absent where the two are not comparable.
    evaluation: Option<Evaluation>,
    #[serde(flatten)]
    choice: Option<ClockChoice>,
    /// Commands: whether they ran before everything else that wanted a core.
    #[serde(skip_serializing_if = "Option::is_none")]
    preceded: Option<bool>,
    /// Why the two are not comparable.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_comparable: Option<String>,
    ranks: Option<MannWhitney>,
    log_ratios: Vec<f64>,
    /// A budget that would decide a difference of the size seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds_needed: Option<f64>,
    pub(super) a: Measurement,
    pub(super) b: Measurement,
}

impl Row {
    fn outcome(&self) -> Verdict {
        let verdict = self.evaluation.map(|evaluation| evaluation.verdict);
        verdict.unwrap_or(Verdict::Undecided)
    }

    pub(super) fn verdict(&self) -> String {
        match self.evaluation {
            Some(evaluation) => evaluation.verdict.to_string(),
            None => "not comparable".to_owned(),
        }
    }

    pub(super) fn ratio(&self) -> String {
        let ratio = self.evaluation.map(|evaluation| evaluation.ratio);
        match ratio.filter(|ratio| ratio.is_finite()) {
            Some(ratio) => format!("{ratio:.4}"),
            None => "–".to_owned(),
        }
    }

    pub(super) fn interval(&self) -> String {
        match self.evaluation.filter(|e| e.high.is_finite()) {
            Some(evaluation) => format!("{:.4} to {:.4}", evaluation.low, evaluation.high),
            None => "too few".to_owned(),
        }
    }

    pub(super) fn clock(&self) -> String {
        let choice = self.choice.as_ref();
        choice.map_or("–".to_owned(), |choice| choice.clock.to_string())
    }

    fn finding(&self) -> Option<Finding> {
        if let Some(reason) = &self.not_comparable {
            let says = format!("`{}`: not comparable", self.name);
            return Some(Finding::new("M013", Severity::Warning, says).because("reason", reason));
        }
        let mut finding = findings::of_evaluation(&self.name, self.evaluation.as_ref()?)?;
        if let Some(choice) = &self.choice {
            finding = finding.because("clock", format!("{}: {}", choice.clock, choice.reason));
        }
        Some(match self.seconds_needed {
            Some(seconds) if seconds < 1e6 => finding.hint(format!(
                "`--budget {:.0}` would decide a difference of this size",
                seconds.ceil()
            )),
            _ => finding,
        })
    }
}

impl Compare {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let global = &self
            .files
            .check(global, &[("--markdown", self.markdown.as_deref())])?;
        let ends = |path: &PathBuf, ending| path.extension().is_some_and(|given| given == ending);
        let is_case = |path: &PathBuf| ends(path, "toml") || ends(path, "py");
        let old = match (&self.git, &self.files_to_compare[..]) {
            (None, _) => None,
            (Some(revision), [case]) if ends(case, "toml") => Some(AtRevision::of(case, revision)?),
            (Some(_), _) => bail!("`--git` goes with one case (`.toml`)"),
        };
        let mut files = self.files_to_compare.clone();
        if let Some(old) = &old {
            files.insert(0, old.case.clone());
        }
        let case_count = files.iter().filter(|path| is_case(path)).count();
        if case_count == 1 {
            bail!(
                "a case is compared with another one (`.toml`, or a `.py` file with a kernel), or with `--git REV`"
            );
        }
        if files.len() == 1 {
            bail!("two files are compared; got one");
        }
        if let [a, b] = &files[..]
            && case_count == 0
            && let Some(baselines) = baselines::read_both(a, b)?
        {
            let compared = baselines.compare(self.threshold, self.any_machine)?;
            let written = compared.write(global, &self.files, self.markdown.as_deref());
            let outcome = compared.print(global)?;
            return written.map(|()| outcome);
        }
        let margin = self.margin / 100.0;
        let budget = Duration::try_from_secs_f64(self.budget)?;
        let mut notes = Vec::new();
        let mut failure = None;
        let rows = if let Some(workload) = &self.workload {
            let plan = ComparisonPlan {
                margin,
                budget: Some(budget),
                ..ComparisonPlan::default()
            };
            vec![self.workload_settings(global, workload, &plan)?]
        } else if !self.commands.command.is_empty() {
            let plan = TurnsPlan {
                margin,
                budget,
                ..TurnsPlan::default()
            };
            let turns = self.commands.compare(global, &plan)?;
            failure = turns.failure;
            rows_of(turns.sides, turns.conclusions, self.commands.precede())
        } else if let ([a, b], 2) = (&files[..], case_count) {
            let plan = ComparisonPlan {
                margin,
                budget: Some(budget),
                ..ComparisonPlan::default()
            };
            match cases::compare(global, a, b, self.mode.into(), &plan)? {
                Compared::Cannot(outcome) => return Ok(outcome),
                Compared::Rows(rows) => rows
                    .into_iter()
                    .map(|(name, done)| row(name, done))
                    .collect(),
            }
        } else if let [a, b] = &files[..] {
            notes.push(Finding::new(
                "M012",
                Severity::Info,
                "the two runs were not interleaved; what changed between them is inside the ratio",
            ));
            compare_files(a, b, margin)?
        } else {
            bail!("nothing to compare: give two files, `--command` twice, or `--workload`");
        };
        output::progress(global, "");
        notes.extend(rows.iter().filter_map(Row::finding));
        let outcome = Outcome::of_verdicts(rows.iter().map(Row::outcome));
        let mut report = output::report("compare", rows);
        report.findings = notes;
        let rows = &report.body;
        let samples: Vec<_> = rows.iter().flat_map(|row| [&row.a, &row.b]).collect();
        let sections = || page_sections(rows, margin);
        let files = (self.files).write(global, "compare", &samples, sections, &report);
        let table = match &self.markdown {
            Some(path) => write_output(path, markdown::table(rows).as_bytes())
                .map(|()| output::note(global, &format!("wrote {}", path.display()))),
            None => Ok(()),
        };
        output::print(global, &report, |rows| describe(rows))?;
        // A file that cannot be written loses nothing: the result stands above.
        files?;
        table?;
        ended(global, outcome, failure)
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
            evaluation: Some(row.evaluation),
            choice: None,
            preceded: None,
            not_comparable: None,
            ranks: row.comparison.ranks,
            log_ratios: row.comparison.log_ratios,
            seconds_needed: None,
            a: row.comparison.a,
            b: row.comparison.b,
        })
    }
}

/// One row for every side but the first.
fn rows_of(sides: Vec<Measurement>, conclusions: Vec<Conclusion>, preceded: bool) -> Vec<Row> {
    let mut sides = sides.into_iter();
    let Some(base) = sides.next() else {
        return Vec::new();
    };
    sides
        .zip(conclusions)
        .map(|(side, conclusion)| Row {
            name: side.name.clone(),
            evaluation: Some(conclusion.evaluation),
            choice: Some(conclusion.choice),
            preceded: Some(preceded),
            not_comparable: None,
            ranks: conclusion.ranks,
            log_ratios: conclusion.log_ratios,
            seconds_needed: conclusion.seconds_needed,
            a: base.clone(),
            b: side,
        })
        .collect()
}

fn row(name: String, done: Comparison) -> Row {
    Row {
        name,
        evaluation: Some(done.evaluation),
        choice: None,
        preceded: None,
        not_comparable: None,
        ranks: done.ranks,
        log_ratios: done.log_ratios,
        seconds_needed: None,
        a: done.a,
        b: done.b,
    }
}

/// Compares the benchmarks that two files have in common, by name; or the only ones they have.
fn compare_files(a: &Path, b: &Path, margin: f64) -> Result<Vec<Row>> {
    let read = |path: &Path| {
        import::read(path).with_context(|| format!("cannot compare `{}`", path.display()))
    };
    let (from_a, from_b) = (read(a)?, read(b)?);
    let single = from_a.len() == 1 && from_b.len() == 1;
    let mut pairs = Vec::new();
    for one in &from_a {
        let others = from_b.iter();
        for other in others.filter(|other| single || other.name == one.name) {
            pairs.push((one, other));
        }
    }
    if pairs.is_empty() {
        bail!(
            "`{}` and `{}` have no benchmark in common ({} and {} read)",
            a.display(),
            b.display(),
            from_a.len(),
            from_b.len()
        );
    }
    // A file says nothing about its machine beyond what the samples carry.
    let fitness = Fitness::default();
    let stored = |measurement| StoredResult {
        measurement,
        fitness: &fitness,
    };
    let stored_pairs: Vec<_> = pairs.iter().map(|(a, b)| (stored(a), stored(b))).collect();
    let compared = compare_stored(&stored_pairs, margin, 0.01);
    let rows = pairs.into_iter().zip(compared).map(|((a, b), compared)| {
        let (evaluation, choice, not_comparable) = match compared {
            StoredComparison::Judged(judged) => {
                (Some(judged.evaluation), Some(judged.choice), None)
            }
            StoredComparison::NotComparable { reason } => (None, None, Some(reason)),
        };
        Row {
            name: b.name.clone(),
            evaluation,
            choice,
            preceded: None,
            not_comparable,
            ranks: mann_whitney(&a.seconds, &b.seconds),
            log_ratios: Vec::new(),
            seconds_needed: None,
            a: a.clone(),
            b: b.clone(),
        }
    });
    Ok(rows.collect())
}

fn page_sections(rows: &[Row], margin: f64) -> Vec<Section> {
    let forest: Vec<ForestRow<'_>> = rows
        .iter()
        .filter_map(|row| Some((row, row.evaluation.filter(|e| e.high.is_finite())?)))
        .map(|(row, evaluation)| ForestRow::of(&row.name, &evaluation))
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
        "clock",
        ">P(B>A)",
        ">rank p",
    ]);
    for row in rows {
        let evaluation = row.evaluation;
        table.row([
            row.name.clone(),
            row.verdict(),
            row.ratio(),
            row.interval(),
            evaluation.map_or("–".to_owned(), |e| {
                format!("{:.1} %", 100.0 * e.confidence)
            }),
            evaluation.map_or("–".to_owned(), |e| e.rounds.to_string()),
            row.clock(),
            row.ranks.map_or("–".to_owned(), |r| {
                format!("{:.2}", r.probability_b_greater)
            }),
            row.ranks
                .map_or("–".to_owned(), |r| format!("{:.1e}", r.p_value)),
        ]);
    }
    let mut text = table.to_string();
    let choices = rows.iter().filter_map(|row| row.choice.as_ref());
    let mut reasons: Vec<String> = choices
        .map(|choice| format!("{} decides: {}\n", choice.clock, choice.reason))
        .collect();
    reasons.dedup();
    text.extend(reasons);
    text
}
