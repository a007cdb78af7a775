//! `warpsmith history`: results over commits, and which commit to suspect.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use serde::Serialize;
use warpsmith_core::{Finding, Seconds, Severity};
use warpsmith_device::machine_identity;
use warpsmith_formats::write_output;
use warpsmith_history::detectors::{Suspect, stands_out, suspects};
use warpsmith_history::store::{History, Point, SeriesKey, machine_key};
use warpsmith_measure::comparison::evaluation::{Evaluation, Verdict};
use warpsmith_measure::comparison::paired_rounds::ComparisonPlan;
use warpsmith_measure::import;
use warpsmith_measure::report::html::{Section, page};
use warpsmith_measure::report::plot;

use crate::exit::Outcome;
use crate::global::Global;
use crate::output;
use crate::paired_commands::compare_commands;
use crate::table::Table;

/// Keep results over commits, and find where they changed.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  warpsmith history add result.json --commit $(git rev-parse HEAD)\n  \
    warpsmith history show\n  warpsmith history check   # exit code 1 where a commit is suspected\n  \
    warpsmith history confirm './builds/{commit}/solver'   # exit code 1 where one is slower\n\n\
    `add` reads reports of `run`, `bench` and `compare`, and files of nvbench, Criterion, \
    hyperfine, Google Benchmark and pytest-benchmark."
)]
pub(crate) struct HistoryCommand {
    /// The history file.
    #[arg(long, default_value = "warpsmith-history.sqlite", global = true)]
    file: PathBuf,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Store the results of a file.
    Add {
        /// The file.
        results: PathBuf,
        /// The commit that was measured.
        #[arg(long)]
        commit: String,
        /// When the commit was made, in seconds since 1970; default: now.
        #[arg(long)]
        at: Option<i64>,
        /// Forget earlier runs of this commit; otherwise the commit counts as the median of its
        /// runs.
        #[arg(long)]
        replace: bool,
    },
    /// Print every series of this machine.
    Show {
        /// Series of every machine.
        #[arg(long)]
        all_machines: bool,
        /// Also write one HTML page with plots.
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
    },
    /// Find commits to suspect on this machine, and results that are worth measuring again.
    Check,
    /// Measure every suspect against the commit before it, in turns; only what is slower then is
    /// told.
    Confirm {
        /// A line for `sh -c` that runs the benchmark of a commit, with `{commit}` in its place.
        line: String,
        /// Only this benchmark.
        #[arg(long)]
        benchmark: Option<String>,
        /// Differences up to this many percent do not matter.
        #[arg(long, default_value_t = 1.0)]
        margin: f64,
    },
}

#[derive(Serialize)]
struct Series {
    key: SeriesKey,
    points: Vec<Point>,
    suspects: Vec<Suspect>,
}

impl HistoryCommand {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        match &self.action {
            Action::Add {
                results,
                commit,
                at,
                replace,
            } => self.add(global, results, commit, *at, *replace),
            Action::Show { all_machines, html } => {
                self.show(global, *all_machines, html.as_deref())
            }
            Action::Check => self.show(global, false, None),
            Action::Confirm {
                line,
                benchmark,
                margin,
            } => self.confirm(global, line, benchmark.as_deref(), margin / 100.0),
        }
    }

    fn add(
        &self,
        global: &Global,
        results: &Path,
        commit: &str,
        at: Option<i64>,
        replace: bool,
    ) -> Result<Outcome> {
        let measurements = import::read(results)?;
        let history = History::open(&self.file)?;
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .context("the clock is before 1970")?;
        let at = at.unwrap_or(i64::try_from(now.as_secs())?);
        let machine = machine_identity();
        for measurement in &measurements {
            if replace {
                history.forget(&measurement.name, &machine, commit)?;
            }
            history.add(measurement, &machine, commit, at)?;
        }
        output::note(
            global,
            &format!("stored {} results of {commit}", measurements.len()),
        );
        Ok(Outcome::Fine)
    }

    fn open(&self) -> Result<History> {
        if !self.file.exists() {
            bail!(
                "there is no history `{}`; `warpsmith history add` begins one",
                self.file.display()
            );
        }
        Ok(History::open(&self.file)?)
    }

    /// Measures each slower suspect of this machine against the commit before it.
    fn confirm(
        &self,
        global: &Global,
        line: &str,
        benchmark: Option<&str>,
        margin: f64,
    ) -> Result<Outcome> {
        if !line.contains("{commit}") {
            bail!("`{line}` has no `{{commit}}` in it: every commit would run the same");
        }
        let history = self.open()?;
        let here = machine_key(&machine_identity());
        let plan = ComparisonPlan {
            margin,
            ..ComparisonPlan::default()
        };
        let mut body = Vec::new();
        let mut found = Vec::new();
        let wanted = |key: &SeriesKey| {
            key.machine == here && benchmark.is_none_or(|name| key.benchmark == name)
        };
        for key in history.keys()?.into_iter().filter(wanted) {
            let points = history.series(&key)?;
            let medians: Vec<f64> = points.iter().map(|point| point.median).collect();
            let slower = suspects(&medians).into_iter().filter(|s| s.change > 0.0);
            for suspect in slower.filter(|suspect| suspect.index > 0) {
                let before = &points[suspect.index - 1].commit;
                let after = &points[suspect.index].commit;
                output::progress(global, &format!("{}: {before} and {after}", key.benchmark));
                let run = |commit: &str| line.replace("{commit}", commit);
                let done = compare_commands(global, &run(before), &run(after), &plan)?;
                found.extend(alert(&key.benchmark, before, after, &done.evaluation));
                body.push(Confirmation {
                    benchmark: key.benchmark.clone(),
                    before: before.clone(),
                    after: after.clone(),
                    suspected_change: suspect.change,
                    evaluation: done.evaluation,
                });
            }
        }
        output::progress(global, "");
        let slower = found
            .iter()
            .any(|finding| finding.severity == Severity::Error);
        let mut report = output::report("history confirm", body);
        report.findings = found;
        output::print(global, &report, |body| confirmations(body))?;
        Ok(Outcome::fine_if(!slower))
    }

    fn show(&self, global: &Global, all: bool, html: Option<&Path>) -> Result<Outcome> {
        let global = &output::check_outputs(global, &[("--html", html)])?;
        let history = self.open()?;
        let here = machine_key(&machine_identity());
        let keys = history.keys()?;
        let elsewhere = keys.iter().filter(|key| key.machine != here).count();
        let mut body = Vec::new();
        for key in keys.into_iter().filter(|key| all || key.machine == here) {
            let points = history.series(&key)?;
            let medians: Vec<f64> = points.iter().map(|point| point.median).collect();
            body.push(Series {
                suspects: suspects(&medians),
                key,
                points,
            });
        }
        if !all && elsewhere > 0 {
            output::note(
                global,
                &format!(
                    "{elsewhere} series of other machines are left out; `history show --all-machines` shows them"
                ),
            );
        }
        let mut report = output::report("history", body);
        for series in &report.body {
            for suspect in series
                .suspects
                .iter()
                .filter(|suspect| suspect.change > 0.0)
            {
                let commit = &series.points[suspect.index].commit;
                report.findings.push(
                    Finding::new(
                        "M040",
                        Severity::Warning,
                        format!(
                            "`{}`: {commit} is suspected to be slower by {:.1} %",
                            series.key.benchmark,
                            100.0 * suspect.change
                        ),
                    )
                    .because(
                        "levels before and after",
                        format!("p = {:.1e}", suspect.p_value),
                    )
                    .hint(
                        "measure both commits in turns: `warpsmith history confirm 'LINE with {commit}'`",
                    ),
                );
            }
            let medians: Vec<f64> = series.points.iter().map(|point| point.median).collect();
            if let Some(newest) = series.points.last().filter(|newest| {
                // Three runs have said what there is to say.
                newest.runs < 3 && stands_out(&medians)
            }) {
                report.findings.push(
                    Finding::new(
                        "M041",
                        Severity::Info,
                        format!(
                            "`{}`: the result of {} stands out; measure it twice more",
                            series.key.benchmark, newest.commit
                        ),
                    )
                    .because("median", Seconds(newest.median).to_string())
                    .hint("further `history add`s of a commit join the first: their median counts"),
                );
            }
        }
        if let Some(path) = html {
            let sections: Vec<Section> = report.body.iter().map(section).collect();
            write_output(path, page("history", &sections).as_bytes())?;
        }
        output::print(global, &report, |body| body.iter().map(describe).collect())?;
        let checked = matches!(self.action, Action::Check);
        let suspected = |finding: &Finding| finding.severity != Severity::Info;
        Ok(Outcome::fine_if(
            !(checked && report.findings.iter().any(suspected)),
        ))
    }
}

/// What a confirmation found out about one suspect.
#[derive(Serialize)]
struct Confirmation {
    benchmark: String,
    before: String,
    after: String,
    suspected_change: f64,
    evaluation: Evaluation,
}

/// What to tell: nothing where the suspect is as fast as the commit before it.
fn alert(benchmark: &str, before: &str, after: &str, evaluation: &Evaluation) -> Option<Finding> {
    let seen = format!(
        "{:.4} ({:.4} to {:.4}) of {before}, {} rounds",
        evaluation.ratio, evaluation.low, evaluation.high, evaluation.rounds
    );
    let (code, severity, says) = match evaluation.verdict {
        Verdict::Slower => ("M042", Severity::Error, "is slower, measured again"),
        Verdict::Undecided => ("M011", Severity::Warning, "could not be confirmed"),
        Verdict::Same | Verdict::Faster => return None,
    };
    Some(
        Finding::new(code, severity, format!("`{benchmark}`: {after} {says}"))
            .because("ratio", seen),
    )
}

fn confirmations(body: &[Confirmation]) -> String {
    if body.is_empty() {
        return "no commit is suspected\n".to_owned();
    }
    let mut table = Table::new(&[
        "benchmark",
        "commit",
        "before",
        ">suspected",
        ">measured",
        "verdict",
    ]);
    for row in body {
        table.row([
            row.benchmark.clone(),
            row.after.chars().take(12).collect(),
            row.before.chars().take(12).collect(),
            format!("{:+.1} %", 100.0 * row.suspected_change),
            format!("{:+.1} %", 100.0 * (row.evaluation.ratio - 1.0)),
            row.evaluation.verdict.to_string(),
        ]);
    }
    table.to_string()
}

fn section(series: &Series) -> Section {
    let medians: Vec<f64> = series.points.iter().map(|point| point.median).collect();
    let places: Vec<usize> = series
        .suspects
        .iter()
        .map(|suspect| suspect.index)
        .collect();
    Section {
        heading: series.key.benchmark.clone(),
        text: describe(series),
        plots: vec![plot::history(&series.key.benchmark, &medians, &places)],
    }
}

/// The interval of a point's median; too few samples have none, which is stored as the largest
/// numbers that there are.
fn interval(point: &Point) -> String {
    let bounded = |end: f64| end.abs() < 0.5 * f64::MAX;
    if bounded(point.low) && bounded(point.high) {
        format!("{} to {}", Seconds(point.low), Seconds(point.high))
    } else {
        "too few samples".to_owned()
    }
}

fn describe(series: &Series) -> String {
    let mut table = Table::new(&["commit", ">median", ">interval", ">samples", "change"]);
    for (index, point) in series.points.iter().enumerate() {
        let change = series
            .suspects
            .iter()
            .find(|suspect| suspect.index == index);
        table.row([
            point.commit.chars().take(12).collect(),
            Seconds(point.median).to_string(),
            interval(point),
            point.count.to_string(),
            change.map_or(String::new(), |suspect| {
                format!("{:+.1} % from here", 100.0 * suspect.change)
            }),
        ]);
    }
    format!(
        "{} on {}\n{table}\n",
        series.key.benchmark, series.key.machine
    )
}

#[cfg(test)]
mod tests {
    use warpsmith_measure::comparison::evaluation::evaluate;

    use super::*;

    #[test]
    fn only_what_is_slower_again_is_told_as_an_error() {
        let told = |ratio: f64| {
            let rounds: Vec<f64> = (0..24)
                .map(|round| ratio.ln() + 1e-4 * f64::from(round % 5))
                .collect();
            let finding = alert("b", "one", "two", &evaluate(&rounds, 0.01, 0.05));
            finding.map(|finding| (finding.code, finding.severity))
        };
        assert_eq!(told(1.05), Some(("M042".into(), Severity::Error)));
        assert_eq!(told(1.0), None);
        assert_eq!(told(0.9), None);
        assert_eq!(told(1.0098), Some(("M011".into(), Severity::Warning)));
    }
}
