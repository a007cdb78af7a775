//! `warpsmith history bisect`: which commit of a range is slower.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use warpsmith_core::{Finding, Severity};
use warpsmith_history::bisect::{Found, Reading, SearchPlan, search};
use warpsmith_measure::command::contest::{Contestant, contest};
use warpsmith_measure::command::{CommandError, CommandTarget};
use warpsmith_measure::comparison::evaluation::{Estimate, Evaluation, Verdict, evaluate};
use warpsmith_measure::comparison::turns::{Conclusion, TurnsPlan};

use super::git;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::interruption::Interruption;
use warpsmith_console::numbers;
use warpsmith_console::output;
use warpsmith_console::table::Table;

/// Find the commit of a range that made a command slower, with as few builds as possible.
///
/// Both ends are measured first. Then every commit has a probability of being the first slow one, and
/// the one that halves what is left is built and measured in turns with the good end; a commit whose
/// measurement leaves it open is measured again before another one is built.
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
    /// Probability that the slower commit is among them.
    probability: f64,
    /// Commits that were built, both ends included.
    built: usize,
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
        let mut bench = Bench {
            options: self,
            global,
            interruption,
            good: git::commit(Some(&self.good))?.name,
            built: HashSet::new(),
            measured: Vec::new(),
        };
        let (last, _) = commits.split_last().context("a range has commits")?;
        let plan = SearchPlan::default();
        let (verdict, whole) = bench.measure_whole(last, self.margin / 100.0, plan.repeats)?;
        if verdict != Verdict::Slower {
            return print(global, bench.body(&commits, None), verdict);
        }
        // Half of the whole change: a commit on either side of it is far from the edge.
        let half = (0.5 * whole.change).exp_m1();
        let found = search::<anyhow::Error>(commits.len(), whole, &plan, &mut |index| {
            bench.measure(&commits[index], half)?;
            let rounds = bench
                .measured
                .last()
                .map(|last| &last.conclusion.log_ratios);
            Ok(reading(rounds.map_or(&[][..], Vec::as_slice)))
        })?;
        let body = bench.body(&commits, Some(&found));
        print(global, body, Verdict::Slower)
    }
}

/// Builds commits once, and measures them against the good one.
struct Bench<'a> {
    options: &'a Bisect,
    global: &'a Global,
    interruption: Interruption,
    good: String,
    built: HashSet<String>,
    measured: Vec<Measured>,
}

impl Bench<'_> {
    fn body(self, commits: &[String], found: Option<&Found>) -> Body {
        let candidates = found.map_or(Vec::new(), |found| {
            commits[found.first..=found.last].to_vec()
        });
        let commit = match &candidates[..] {
            [one] => Some(one.clone()),
            _ => None,
        };
        Body {
            commits: commits.len(),
            commit,
            candidates,
            probability: found.map_or(0.0, |found| found.probability),
            built: self.built.len(),
            measured: self.measured,
        }
    }

    /// Measures the whole change, `repeats` times at most: on a busy machine one budget may leave
    /// open whether there is any, and measuring again builds nothing.
    fn measure_whole(
        &mut self,
        last: &str,
        margin: f64,
        repeats: usize,
    ) -> Result<(Verdict, Reading)> {
        // Every look at the rounds may be the one that misleads.
        let alpha = 0.05 / repeats as f64;
        let mut rounds = Vec::new();
        for time in 1..=repeats {
            let mut verdict = self.measure(last, margin)?.verdict;
            let taken = self.measured.last();
            rounds.extend(taken.iter().flat_map(|taken| &taken.conclusion.log_ratios));
            if verdict == Verdict::Undecided {
                verdict = evaluate(&rounds, margin, alpha).verdict;
            }
            if verdict != Verdict::Undecided || time == repeats {
                return Ok((verdict, reading(&rounds)));
            }
        }
        bail!("a search needs at least one measurement")
    }

    /// Builds `commit`, where that was not done before.
    fn build(&mut self, commit: &str) -> Result<()> {
        if !self.built.insert(commit.to_owned()) {
            return Ok(());
        }
        let Some(line) = &self.options.build else {
            return Ok(());
        };
        output::progress(self.global, &format!("building {commit}"));
        let target = CommandTarget {
            limit: Duration::from_secs(24 * 3600),
            interrupted: Some(self.interruption.flag()),
            ..CommandTarget::shell(&line.replace("{commit}", commit))
        };
        target
            .run(1)
            .with_context(|| format!("cannot build {commit}"))?;
        Ok(())
    }

    /// Measures `commit` against the good one, in turns.
    fn measure(&mut self, commit: &str, margin: f64) -> Result<Evaluation> {
        let good = self.good.clone();
        self.build(&good)?;
        self.build(commit)?;
        output::progress(self.global, &format!("measuring {commit}"));
        let contestant = |commit: &str| {
            let target = CommandTarget {
                precedes: true,
                interrupted: Some(self.interruption.flag()),
                ..CommandTarget::shell(&self.options.line.replace("{commit}", commit))
            };
            Contestant::new(commit, target)
        };
        let plan = TurnsPlan {
            margin,
            budget: Duration::try_from_secs_f64(self.options.budget)?,
            // Other orders where a commit is measured again.
            seed: 1 + self.measured.len() as u64,
            ..TurnsPlan::default()
        };
        let both = [contestant(&good), contestant(commit)];
        let turns = contest(&both, 1, &plan, &mut |_| {})?;
        output::progress(self.global, "");
        if let Some(error) = turns.failure {
            return Err(match error {
                error @ CommandError::Interrupted => error.into(),
                error => anyhow::Error::from(error).context(format!("measuring {commit}")),
            });
        }
        let first = turns.conclusions.into_iter().next();
        let conclusion = first.context("no conclusion")?;
        let evaluation = conclusion.evaluation;
        self.measured.push(Measured {
            commit: commit.to_owned(),
            conclusion,
        });
        Ok(evaluation)
    }
}

/// What rounds say about a commit.
fn reading(rounds: &[f64]) -> Reading {
    Estimate::of(rounds).map_or(
        // Too few rounds tell nothing.
        Reading {
            change: 0.0,
            error: f64::INFINITY,
        },
        |estimate| Reading {
            change: estimate.centre,
            // Rounds that all say the same are still rounded times.
            error: estimate.error.max(1e-4),
        },
    )
}

fn print(global: &Global, body: Body, verdict: Verdict) -> Result<Outcome> {
    let mut report = output::report("history bisect", body);
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
        (Some(commit), _) => format!(
            "{commit} is the first that is slower (probability {:.0} %)",
            100.0 * body.probability
        ),
        (None, true) => "the last commit is not shown to be slower than the good one".to_owned(),
        (None, false) => format!("one of {} commits", body.candidates.len()),
    };
    format!(
        "{table}{answer}; {} measurements, {} of {} commits built with the good one\n",
        body.measured.len(),
        body.built,
        body.commits + 1
    )
}
