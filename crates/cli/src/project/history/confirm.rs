//! `warpsmith history confirm`: suspects measured against the commit before them.

use anyhow::{Context, Result, bail};
use serde::Serialize;
use warpsmith_core::{Finding, Severity};
use warpsmith_device::machine_identity;
use warpsmith_history::detectors::suspects;
use warpsmith_history::gate::changes;
use warpsmith_history::store::{SeriesKey, machine_key};
use warpsmith_measure::comparison::evaluation::Verdict;
use warpsmith_measure::comparison::turns::{Conclusion, TurnsPlan};

use super::command::HistoryCommand;
use crate::kernel::compare::compare_lines;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output;
use warpsmith_console::table::Table;

impl HistoryCommand {
    /// Measures the newest slower suspect of each series of this machine against the commit before
    /// it.
    pub(super) fn confirm(
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
