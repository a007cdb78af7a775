//! `warpsmith history`: results over commits, and which commit to suspect.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use serde::Serialize;
use warpsmith_core::{Finding, Seconds, Severity};
use warpsmith_device::machine_identity;
use warpsmith_formats::write_output;
use warpsmith_history::detectors::{stands_out, suspects};
use warpsmith_history::gate::{Change, changes, is_commit};
use warpsmith_history::store::{Accepted, History, Point, SeriesKey, machine_key};
use warpsmith_measure::comparison::evaluation::Verdict;
use warpsmith_measure::comparison::turns::{Conclusion, TurnsPlan};
use warpsmith_measure::import;
use warpsmith_measure::report::html::{Section, page};
use warpsmith_measure::report::plot;

use super::bisect::Bisect;
use super::git;
use crate::kernel::compare::compare_lines;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::numbers;
use warpsmith_console::output;
use warpsmith_console::table::Table;

/// Keep results over commits, and find where they changed.
#[derive(Args)]
#[command(
    after_long_help = "Examples:\n  warpsmith run --name solver --save result.json -- ./solver && warpsmith history add result.json\n  \
    warpsmith history check   # a gate: only the newest change is judged\n  \
    warpsmith history accept M040 abc1234 --reason 'bounds are checked now'\n  \
    warpsmith history confirm './builds/{commit}/solver'\n  \
    warpsmith history bisect --good v1.2 --build './build.sh {commit}' './builds/{commit}/solver'\n\n\
    `add` reads reports of `run`, `bench` and `compare`, and files of nvbench, Criterion, \
    hyperfine, Google Benchmark and pytest-benchmark.\n\
    Exit codes: 0 same or faster, 1 slower, 4 undecided."
)]
pub(crate) struct HistoryCommand {
    /// The history file.
    #[arg(
        long,
        value_name = "FILE",
        default_value = "warpsmith-history.sqlite",
        global = true
    )]
    file: PathBuf,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Store the results of a file.
    Add {
        /// The file.
        #[arg(value_parser = inputs::file())]
        results: PathBuf,
        /// The commit that was measured; default: the one that is checked out.
        #[arg(long, value_name = "COMMIT")]
        commit: Option<String>,
        /// When the commit was made, in seconds since 1970; default: what git says, else now.
        #[arg(long = "committed-at", alias = "at", value_name = "UNIX_SECONDS")]
        at: Option<i64>,
        /// Store the file's only benchmark under this name.
        #[arg(short, long, value_name = "NAME")]
        name: Option<String>,
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
        /// Also write one HTML page with plots; it needs no network.
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
    },
    /// Judge the newest change on this machine, and name results that are worth measuring again.
    Check {
        /// Only changes at this commit or after it.
        #[arg(long, value_name = "COMMIT")]
        since: Option<String>,
        /// Only this benchmark.
        #[arg(short, long, value_name = "NAME")]
        name: Option<String>,
    },
    /// Note that a change is wanted: `check` does not judge it again, and pages show why.
    Accept {
        /// The finding that is accepted: M040.
        #[arg(value_parser = ["M040"])]
        code: String,
        /// The commit that it names.
        commit: String,
        /// Why the change is wanted.
        #[arg(long)]
        reason: String,
        /// Only for this benchmark.
        #[arg(short, long, value_name = "NAME")]
        name: Option<String>,
    },
    Bisect(Bisect),
    /// Measure the newest suspect against the commit before it, in turns; report only what is
    /// slower again.
    Confirm {
        /// A line for `sh -c` that runs the benchmark of a commit, with `{commit}` in its place.
        line: String,
        /// Only this benchmark.
        #[arg(short = 'n', long = "name", alias = "benchmark", value_name = "NAME")]
        benchmark: Option<String>,
        /// Differences up to this much do not matter.
        #[arg(long, default_value_t = 1.0, value_name = "PERCENT", value_parser = numbers::percent, allow_negative_numbers = true)]
        margin: f64,
        /// Time for each suspect.
        #[arg(long, default_value = "10s", value_name = "TIME", value_parser = numbers::seconds, allow_negative_numbers = true)]
        budget: f64,
    },
}

#[derive(Serialize)]
struct Series {
    key: SeriesKey,
    points: Vec<Point>,
    changes: Vec<Change>,
}

impl HistoryCommand {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        if self.file.is_dir() {
            bail!("`{}` is a folder; name a file in it", self.file.display());
        }
        match &self.action {
            Action::Add {
                results,
                commit,
                at,
                name,
                replace,
            } => self.add(
                global,
                results,
                commit.as_deref(),
                *at,
                name.as_deref(),
                *replace,
            ),
            Action::Show { all_machines, html } => {
                let shown = Shown {
                    all_machines: *all_machines,
                    html: html.as_deref(),
                    ..Shown::default()
                };
                self.show(global, &shown)
            }
            Action::Check { since, name } => {
                let shown = Shown {
                    gate: true,
                    since: since.as_deref(),
                    name: name.as_deref(),
                    ..Shown::default()
                };
                self.show(global, &shown)
            }
            Action::Accept {
                code,
                commit,
                reason,
                name,
            } => self.accept(global, code, commit, reason, name.as_deref()),
            Action::Bisect(bisect) => bisect.run(global),
            Action::Confirm {
                line,
                benchmark,
                margin,
                budget,
            } => {
                let plan = TurnsPlan {
                    margin: margin / 100.0,
                    budget: Duration::try_from_secs_f64(*budget)?,
                    ..TurnsPlan::default()
                };
                self.confirm(global, line, benchmark.as_deref(), &plan)
            }
        }
    }

    fn add(
        &self,
        global: &Global,
        results: &Path,
        commit: Option<&str>,
        at: Option<i64>,
        name: Option<&str>,
        replace: bool,
    ) -> Result<Outcome> {
        let mut measurements = import::read(results)?;
        if let Some(name) = name {
            let [one] = &mut measurements[..] else {
                bail!(
                    "`--name {name}`: `{}` has {} benchmarks",
                    results.display(),
                    measurements.len()
                );
            };
            one.name = name.to_owned();
        }
        if commit.is_none() && git::is_changed() {
            output::note(
                global,
                "note: tracked files differ from the commit; the result is stored as the commit's",
            );
        }
        let commit = git::commit(commit)?;
        let at = match at.or(commit.at) {
            Some(at) => at,
            None => now()?,
        };
        let history = History::open(&self.file)?;
        let machine = machine_identity();
        for measurement in &measurements {
            if replace {
                history.forget(&measurement.name, &machine, &commit.name)?;
            }
            history.add(measurement, &machine, &commit.name, at)?;
        }
        output::note(
            global,
            &format!("stored {} results of {}", measurements.len(), commit.name),
        );
        Ok(Outcome::Fine)
    }

    fn accept(
        &self,
        global: &Global,
        code: &str,
        commit: &str,
        reason: &str,
        name: Option<&str>,
    ) -> Result<Outcome> {
        if reason.trim().is_empty() {
            bail!("`--reason` is empty: say why the change is wanted");
        }
        let history = self.open()?;
        let keys = history.keys()?;
        let wanted = |key: &&SeriesKey| name.is_none_or(|name| key.benchmark == name);
        let mut known = None;
        for key in keys.iter().filter(wanted) {
            let points = history.series(key)?;
            let here = points.iter().find(|point| is_commit(point, commit));
            known = known.or(here.map(|point| point.commit.clone()));
        }
        let Some(commit) = known else {
            bail!(
                "`{}` has no result of {commit}; `warpsmith history show` lists its commits",
                self.file.display()
            );
        };
        history.accept(&Accepted {
            code: code.to_owned(),
            commit: commit.clone(),
            benchmark: name.map(str::to_owned),
            reason: reason.to_owned(),
            at: now()?,
        })?;
        output::note(global, &format!("accepted {code} at {commit}: {reason}"));
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

    /// Measures the newest slower suspect of each series of this machine against the commit before
    /// it.
    fn confirm(
        &self,
        global: &Global,
        line: &str,
        benchmark: Option<&str>,
        plan: &TurnsPlan,
    ) -> Result<Outcome> {
        if !line.contains("{commit}") {
            bail!("`{line}` has no `{{commit}}` in it: every commit would run the same");
        }
        let history = self.open()?;
        let accepted = history.accepted()?;
        let here = machine_key(&machine_identity());
        let mut body: Vec<Confirmation> = Vec::new();
        let mut found = Vec::new();
        let wanted = |key: &SeriesKey| {
            key.machine == here && benchmark.is_none_or(|name| key.benchmark == name)
        };
        for key in history.keys()?.into_iter().filter(wanted) {
            let points = history.series(&key)?;
            let medians: Vec<f64> = points.iter().map(|point| point.median).collect();
            let changes = changes(
                &points,
                &suspects(&medians),
                &accepted,
                &key.benchmark,
                None,
            );
            let judged = changes.into_iter().filter(|change| change.judged);
            for suspect in judged.map(|change| change.suspect).filter(|s| s.index > 0) {
                let before = &points[suspect.index - 1].commit;
                let after = &points[suspect.index].commit;
                output::progress(global, &format!("{}: {before} and {after}", key.benchmark));
                let run = |commit: &str| line.replace("{commit}", commit);
                let done = compare_lines(global, &run(before), &run(after), plan)?;
                let conclusion = done.conclusions.into_iter().next();
                let conclusion = conclusion.context("two commands give one conclusion")?;
                found.extend(alert(&key.benchmark, before, after, &conclusion));
                body.push(Confirmation {
                    benchmark: key.benchmark.clone(),
                    before: before.clone(),
                    after: after.clone(),
                    suspected_change: suspect.change,
                    conclusion,
                });
            }
        }
        output::progress(global, "");
        let outcome =
            Outcome::of_verdicts(body.iter().map(|row| row.conclusion.evaluation.verdict));
        let mut report = output::report("history confirm", body);
        report.findings = found;
        output::print(global, &report, |body| confirmations(body))?;
        Ok(outcome)
    }

    fn show(&self, global: &Global, shown: &Shown<'_>) -> Result<Outcome> {
        let global = &output::check_outputs(global, &[("--html", shown.html)])?;
        let history = self.open()?;
        let here = machine_key(&machine_identity());
        let accepted = history.accepted()?;
        let keys = history.keys()?;
        if let Some(name) = shown.name
            && !keys.iter().any(|key| key.benchmark == name)
        {
            bail!("`{}` has no benchmark `{name}`", self.file.display());
        }
        let elsewhere = keys.iter().filter(|key| key.machine != here).count();
        let wanted = |key: &SeriesKey| {
            (shown.all_machines || key.machine == here)
                && shown.name.is_none_or(|name| key.benchmark == name)
        };
        let mut body = Vec::new();
        let mut since_known = shown.since.is_none();
        for key in keys.into_iter().filter(wanted) {
            let points = history.series(&key)?;
            let medians: Vec<f64> = points.iter().map(|point| point.median).collect();
            since_known |= shown
                .since
                .is_some_and(|since| points.iter().any(|point| is_commit(point, since)));
            let changes = changes(
                &points,
                &suspects(&medians),
                &accepted,
                &key.benchmark,
                shown.since,
            );
            body.push(Series {
                key,
                points,
                changes,
            });
        }
        if let Some(since) = shown.since.filter(|_| !since_known) {
            bail!(
                "`{}` has no result of {since}; `warpsmith history show` lists its commits",
                self.file.display()
            );
        }
        if !shown.all_machines && elsewhere > 0 {
            output::note(
                global,
                &format!(
                    "{elsewhere} series of other machines are left out; `history show --all-machines` shows them"
                ),
            );
        }
        let mut report = output::report("history", body);
        report.findings = report.body.iter().flat_map(findings).collect();
        if let Some(path) = shown.html {
            let sections: Vec<Section> = report.body.iter().map(section).collect();
            write_output(path, page("history", &sections).as_bytes())?;
        }
        output::print(global, &report, |body| body.iter().map(describe).collect())?;
        let suspected = |finding: &Finding| finding.severity != Severity::Info;
        Ok(Outcome::fine_if(
            !(shown.gate && report.findings.iter().any(suspected)),
        ))
    }
}

/// What is shown, and whether it is a gate.
#[derive(Default)]
struct Shown<'a> {
    gate: bool,
    all_machines: bool,
    html: Option<&'a Path>,
    since: Option<&'a str>,
    name: Option<&'a str>,
}

fn now() -> Result<i64> {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .context("the clock is before 1970")?;
    Ok(i64::try_from(since.as_secs())?)
}

/// What one series leads to conclude.
fn findings(series: &Series) -> Vec<Finding> {
    let mut found = Vec::new();
    for change in series.changes.iter().filter(|change| change.judged) {
        let suspect = &change.suspect;
        let commit = &series.points[suspect.index].commit;
        found.push(
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
                "measure both commits in turns: `warpsmith history confirm 'LINE with {commit}'`; \
                 where the change is wanted: `warpsmith history accept M040 COMMIT --reason WHY`",
            ),
        );
    }
    let medians: Vec<f64> = series.points.iter().map(|point| point.median).collect();
    if let Some(newest) = series.points.last().filter(|newest| {
        // Three runs have said what there is to say.
        newest.runs < 3 && stands_out(&medians)
    }) {
        found.push(
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
    found
}

/// What a confirmation found out about one suspect.
#[derive(Serialize)]
struct Confirmation {
    benchmark: String,
    before: String,
    after: String,
    suspected_change: f64,
    #[serde(flatten)]
    conclusion: Conclusion,
}

/// What to tell: nothing where the suspect is as fast as the commit before it.
fn alert(benchmark: &str, before: &str, after: &str, conclusion: &Conclusion) -> Option<Finding> {
    let Conclusion {
        evaluation, choice, ..
    } = conclusion;
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
            .because("ratio", seen)
            .because("clock", format!("{}: {}", choice.clock, choice.reason)),
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
            format!("{:+.1} %", 100.0 * (row.conclusion.evaluation.ratio - 1.0)),
            row.conclusion.evaluation.verdict.to_string(),
        ]);
    }
    table.to_string()
}

fn section(series: &Series) -> Section {
    let medians: Vec<f64> = series.points.iter().map(|point| point.median).collect();
    let places: Vec<usize> = series
        .changes
        .iter()
        .map(|change| change.suspect.index)
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
            .changes
            .iter()
            .find(|change| change.suspect.index == index);
        table.row([
            point.commit.chars().take(12).collect(),
            Seconds(point.median).to_string(),
            interval(point),
            point.count.to_string(),
            change.map_or(String::new(), |change| {
                let accepted = change.accepted.as_ref();
                format!(
                    "{:+.1} % from here{}",
                    100.0 * change.suspect.change,
                    accepted.map_or(String::new(), |why| format!(", accepted: {why}"))
                )
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
    use warpsmith_measure::comparison::clock::{Clock, ClockChoice};
    use warpsmith_measure::comparison::evaluation::evaluate;

    use super::*;

    #[test]
    fn only_what_is_slower_again_is_told_as_an_error() {
        let told = |ratio: f64| {
            let rounds: Vec<f64> = (0..24)
                .map(|round| ratio.ln() + 1e-4 * f64::from(round % 5))
                .collect();
            let conclusion = Conclusion {
                evaluation: evaluate(&rounds, 0.01, 0.05),
                choice: ClockChoice {
                    clock: Clock::Wall,
                    reason: "the machine was quiet".to_owned(),
                },
                log_ratios: rounds,
                ranks: None,
                seconds_needed: None,
            };
            let finding = alert("b", "one", "two", &conclusion);
            finding.map(|finding| (finding.code, finding.severity))
        };
        assert_eq!(told(1.05), Some(("M042".into(), Severity::Error)));
        assert_eq!(told(1.0), None);
        assert_eq!(told(0.9), None);
        assert_eq!(told(1.0098), Some(("M011".into(), Severity::Warning)));
    }
}
