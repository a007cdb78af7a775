//! `warpsmith history`: results over commits, and which commit to suspect.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use serde::Serialize;
use warpsmith_core::{Finding, Seconds, Severity};
use warpsmith_device::machine_identity;
use warpsmith_measure::history::detectors::{Suspect, suspects};
use warpsmith_measure::history::store::{History, Point, SeriesKey, machine_key};
use warpsmith_measure::import;
use warpsmith_measure::report::html::{Section, page};
use warpsmith_measure::report::plot;

use crate::arguments::Global;
use crate::exit::Outcome;
use crate::output::write_file;
use crate::output;
use crate::table::Table;

/// Keep results over commits, and find where they changed.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  warpsmith history add result.json --commit $(git rev-parse HEAD)\n  \
    warpsmith history show\n  warpsmith history check   # exit code 1 where a commit is suspected\n\n\
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
        /// When the commit was made, in seconds since 1970; now where it is not said.
        #[arg(long)]
        at: Option<i64>,
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
    /// Find commits to suspect on this machine.
    Check,
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
            } => self.add(global, results, commit, *at),
            Action::Show { all_machines, html } => self.show(global, *all_machines, html.as_ref()),
            Action::Check => self.show(global, false, None),
        }
    }

    fn add(
        &self,
        global: &Global,
        results: &Path,
        commit: &str,
        at: Option<i64>,
    ) -> Result<Outcome> {
        let measurements = import::read(results)?;
        let history = History::open(&self.file)?;
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .context("the clock is before 1970")?;
        let at = at.unwrap_or(i64::try_from(now.as_secs())?);
        let machine = machine_identity();
        for measurement in &measurements {
            history.add(measurement, &machine, commit, at)?;
        }
        output::note(
            global,
            &format!("stored {} results of {commit}", measurements.len()),
        );
        Ok(Outcome::Fine)
    }

    fn show(&self, global: &Global, all: bool, html: Option<&PathBuf>) -> Result<Outcome> {
        if !self.file.exists() {
            bail!(
                "there is no history `{}`; `warpsmith history add` begins one",
                self.file.display()
            );
        }
        let history = History::open(&self.file)?;
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
                        "measure both commits paired: `warpsmith compare --command … --command …`",
                    ),
                );
            }
        }
        if let Some(path) = html {
            let sections: Vec<Section> = report.body.iter().map(section).collect();
            write_file(path, page("history", &sections).as_bytes())?;
        }
        output::print(global, &report, |body| body.iter().map(describe).collect())?;
        let checked = matches!(self.action, Action::Check);
        Ok(if checked && !report.findings.is_empty() {
            Outcome::NotFine
        } else {
            Outcome::Fine
        })
    }
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
            format!("{} to {}", Seconds(point.low), Seconds(point.high)),
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
