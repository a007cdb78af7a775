//! `warpsmith history show` and `check`: every series, its changes, and what to make of them.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, bail};
use serde::Serialize;
use warpsmith_core::{Finding, Seconds, Severity};
use warpsmith_device::machine_identity;
use warpsmith_formats::write_output;
use warpsmith_history::detectors::{stands_out, suspects};
use warpsmith_history::gate::{Change, changes, is_commit};
use warpsmith_history::store::{Point, SeriesKey, machine_key};
use warpsmith_measure::report::html::{Section, page};
use warpsmith_measure::report::plot;

use super::command::HistoryCommand;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output;
use warpsmith_console::table::Table;

#[derive(Serialize)]
struct Series {
    key: SeriesKey,
    points: Vec<Point>,
    changes: Vec<Change>,
}

/// What is shown, and whether it is a gate.
#[derive(Default)]
pub(super) struct Shown<'a> {
    pub(super) gate: bool,
    pub(super) all_machines: bool,
    pub(super) html: Option<&'a Path>,
    pub(super) since: Option<&'a str>,
    pub(super) name: Option<&'a str>,
}

impl HistoryCommand {
    pub(super) fn show(&self, global: &Global, shown: &Shown<'_>) -> Result<Outcome> {
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
        let others: BTreeSet<String> = keys
            .iter()
            .filter(|key| key.machine != here)
            .map(|key| key.machine.clone())
            .collect();
        let others: Vec<String> = others.into_iter().collect();
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
        if shown.gate && body.is_empty() && !others.is_empty() {
            bail!(
                "`{}` has no result of this machine ({here}) to judge, only of {}; measure and \
                 `warpsmith history add` here first",
                self.file.display(),
                others.join(" and ")
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
