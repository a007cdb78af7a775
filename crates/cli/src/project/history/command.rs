//! `warpsmith history`: results over commits, and which commit to suspect.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use warpsmith_device::machine_identity;
use warpsmith_history::gate::is_commit;
use warpsmith_history::store::{Accepted, History, SeriesKey};
use warpsmith_measure::comparison::turns::TurnsPlan;
use warpsmith_measure::import;

use super::bisect::Bisect;
use super::git;
use super::series::Shown;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::numbers;
use warpsmith_console::output;

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
    pub(super) file: PathBuf,
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

    pub(super) fn open(&self) -> Result<History> {
        if !self.file.exists() {
            bail!(
                "there is no history `{}`; `warpsmith history add` begins one",
                self.file.display()
            );
        }
        Ok(History::open(&self.file)?)
    }
}

fn now() -> Result<i64> {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .context("the clock is before 1970")?;
    Ok(i64::try_from(since.as_secs())?)
}
