//! `warpsmith history bisect`: which commit of a range is slower.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use warpsmith_core::{Finding, Severity};
use warpsmith_history::bisect::search;
use warpsmith_measure::command::contest::{Contestant, contest};
use warpsmith_measure::command::{CommandError, CommandTarget};
use warpsmith_measure::comparison::evaluation::{Evaluation, Verdict};
use warpsmith_measure::comparison::turns::{Conclusion, TurnsPlan};

use super::git;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::interruption::Interruption;
use warpsmith_console::numbers;
use warpsmith_console::output;
use warpsmith_console::table::Table;

/// Find the commit of a range that made a command slower, by halves.
#[derive(Args)]
pub(super) struct Bisect {
    /// A line for `sh -c` that runs the benchmark of a commit, with `{commit}` in its place.
    line: String,
    /// A commit that is fast.
    #[arg(long, value_name = "COMMIT")]
    good: String,
    /// A commit that is slow.
    #[arg(long, value_name = "COMMIT", default_value = "HEAD")]
    bad: String,
    /// A line that builds a commit, untimed, once for each that is measured.
    #[arg(long, value_name = "LINE")]
    build: Option<String>,
    /// Differences up to this much do not matter.
    #[arg(long, default_value_t = 1.0, value_name = "PERCENT", value_parser = numbers::percent, allow_negative_numbers = true)]
    margin: f64,
    /// Time for each commit.
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = numbers::seconds, allow_negative_numbers = true)]
    budget: f64,
}

/// What was found, and what it rests on.
#[derive(Serialize)]
struct Body {
    /// Commits in the range.
    commits: usize,
    /// The commit that is slower, where the search came down to one.
    commit: Option<String>,
    /// Where it did not: every commit that may be it.
    candidates: Vec<String>,
    /// The commits that were measured against the good one, in that order.
    measured: Vec<Measured>,
}

#[derive(Serialize)]
struct Measured {
    commit: String,
    #[serde(flatten)]
    conclusion: Conclusion,
}

impl Bisect {
    pub(super) fn run(&self, global: &Global) -> Result<Outcome> {
        if !self.line.contains("{commit}") {
            bail!(
                "`{}` has no `{{commit}}` in it: every commit would run the same",
                self.line
            );
        }
        let interruption = Interruption::listen()?;
        let commits = git::range(&self.good, &self.bad)?;
        let good = git::commit(Some(&self.good))?.name;
        let mut measured = Vec::new();
        let (last, _) = commits.split_last().context("a range has commits")?;
        self.build(&good, &interruption)?;
        let whole = self.measure(global, &interruption, &good, last, self.margin / 100.0)?;
        let effect = whole.evaluation;
        measured.push(Measured {
            commit: last.clone(),
            conclusion: whole,
        });
        if effect.verdict != Verdict::Slower {
            return print(global, commits.len(), measured, None, effect.verdict);
        }
        // Half of the whole change: a commit on either side of it is far from the edge.
        let half = effect.ratio.sqrt() - 1.0;
        let found = search::<anyhow::Error>(commits.len(), &mut |index| {
            let commit = &commits[index];
            let conclusion = self.measure(global, &interruption, &good, commit, half)?;
            let has = has_it(&conclusion.evaluation, half);
            measured.push(Measured {
                commit: commit.clone(),
                conclusion,
            });
            Ok(has)
        })?;
        let start = found.before.map_or(0, |before| before + 1);
        let candidates = commits[start..=found.first].to_vec();
        print(
            global,
            commits.len(),
            measured,
            Some(candidates),
            Verdict::Slower,
        )
    }

    fn build(&self, commit: &str, interruption: &Interruption) -> Result<()> {
        let Some(line) = &self.build else {
            return Ok(());
        };
        let target = CommandTarget {
            limit: Duration::from_secs(24 * 3600),
            interrupted: Some(interruption.flag()),
            ..CommandTarget::shell(&line.replace("{commit}", commit))
        };
        target
            .run(1)
            .with_context(|| format!("cannot build {commit}"))?;
        Ok(())
    }

    /// Measures `commit` against the good one, in turns.
    fn measure(
        &self,
        global: &Global,
        interruption: &Interruption,
        good: &str,
        commit: &str,
        margin: f64,
    ) -> Result<Conclusion> {
        output::progress(global, &format!("building {commit}"));
        self.build(commit, interruption)?;
        output::progress(global, &format!("measuring {commit}"));
        let contestant = |commit: &str| {
            let target = CommandTarget {
                interrupted: Some(interruption.flag()),
                ..CommandTarget::shell(&self.line.replace("{commit}", commit))
            };
            Contestant::new(commit, target)
        };
        let plan = TurnsPlan {
            margin,
            budget: Duration::try_from_secs_f64(self.budget)?,
            ..TurnsPlan::default()
        };
        let both = [contestant(good), contestant(commit)];
        let turns = contest(&both, 1, &plan, &mut |_| {})?;
        output::progress(global, "");
        match turns.failure {
            Some(error @ CommandError::Interrupted) => Err(error.into()),
            Some(error) => Err(anyhow::Error::from(error).context(format!("measuring {commit}"))),
            None => turns
                .conclusions
                .into_iter()
                .next()
                .context("no conclusion"),
        }
    }
}

/// Whether the ratio is beyond half of the change; `None` where the interval reaches over it.
fn has_it(evaluation: &Evaluation, half: f64) -> Option<bool> {
    match evaluation.verdict {
        Verdict::Slower => Some(true),
        Verdict::Same | Verdict::Faster => Some(false),
        Verdict::Undecided => (evaluation.high < 1.0 + half).then_some(false),
    }
}

fn print(
    global: &Global,
    commits: usize,
    measured: Vec<Measured>,
    candidates: Option<Vec<String>>,
    verdict: Verdict,
) -> Result<Outcome> {
    let candidates = candidates.unwrap_or_default();
    let commit = match &candidates[..] {
        [one] => Some(one.clone()),
        _ => None,
    };
    let mut report = output::report(
        "history bisect",
        Body {
            commits,
            commit,
            candidates,
            measured,
        },
    );
    let body = &report.body;
    let says = match (&body.commit, &body.candidates[..]) {
        (Some(commit), _) => Some(("M042", Severity::Error, format!("{commit} is slower"))),
        (None, [first, .., last]) => Some((
            "M011",
            Severity::Warning,
            format!(
                "the slower commit is one of {} from {first} to {last}: not enough data to decide",
                body.candidates.len()
            ),
        )),
        _ => None,
    };
    report.findings = says
        .map(|(code, severity, text)| Finding::new(code, severity, text))
        .into_iter()
        .collect();
    output::print(global, &report, describe)?;
    Ok(match report.body.commit {
        Some(_) => Outcome::NotFine,
        None if verdict == Verdict::Slower => Outcome::Undecided,
        None => Outcome::of_verdicts([verdict]),
    })
}

fn describe(body: &Body) -> String {
    let mut table = Table::new(&["commit", ">time / good", ">interval", "verdict", "clock"]);
    for row in &body.measured {
        let evaluation = &row.conclusion.evaluation;
        table.row([
            row.commit.chars().take(12).collect(),
            format!("{:.4}", evaluation.ratio),
            format!("{:.4} to {:.4}", evaluation.low, evaluation.high),
            evaluation.verdict.to_string(),
            row.conclusion.choice.clock.to_string(),
        ]);
    }
    let answer = match (&body.commit, body.candidates.is_empty()) {
        (Some(commit), _) => format!("{commit} is the first that is slower"),
        (None, true) => "the last commit is not shown to be slower than the good one".to_owned(),
        (None, false) => format!("one of {} commits", body.candidates.len()),
    };
    format!(
        "{table}{answer}; {} of {} commits measured\n",
        body.measured.len(),
        body.commits
    )
}
