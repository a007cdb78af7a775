//! `audit` on a terminal.

use std::fmt::Write;

use warpsmith_core::{Report, Severity};

use super::check_text::write_finding;
use super::printable::printable;
use crate::outcome::Outcome;
use crate::project::{Apart, ApartCount, AuditBody};

/// The report as text; information is printed where `everything` is requested.
pub fn audit_text(report: &Report<AuditBody>, everything: bool) -> String {
    let mut out = String::new();
    let body = &report.body;
    let cuda = match body.cuda_files {
        0 => "no CUDA code: only what applies was checked".to_owned(),
        n => format!("{n} CUDA files"),
    };
    let _ = writeln!(out, "{}: {} files, {cuda}", body.project, body.files);
    let mut hidden = 0usize;
    for finding in &report.findings {
        if finding.severity == Severity::Info && !everything {
            hidden += 1;
            continue;
        }
        out.push('\n');
        write_finding(&mut out, finding, "");
    }
    for (place, why) in &body.faults {
        let _ = writeln!(out, "\n? {place}: {why}");
    }
    if !body.unread.is_empty() {
        let _ = writeln!(
            out,
            "\n? {} files were not read (too large, binary or unreadable), the first is {}",
            body.unread.len(),
            body.unread[0]
        );
    }
    let fixtures = body.apart.iter().filter(|a| a.kind == Apart::Fixtures);
    let excluded = body.excluded.len() - fixtures.map(|a| a.files).sum::<usize>();
    if excluded > 0 {
        let files = files(excluded);
        let _ = writeln!(out, "\n{files} not judged: excluded in .warpsmith.toml");
    }
    if !body.apart.is_empty() {
        out.push('\n');
    }
    for apart in &body.apart {
        let _ = writeln!(out, "{}", apart_line(apart));
    }
    let count = |wanted: Outcome| body.outcomes.iter().filter(|o| o.outcome == wanted).count();
    let _ = writeln!(
        out,
        "\n{} rules failed, {} warn, {} inform, {} passed, {} unknown, {} do not apply",
        count(Outcome::Fail),
        count(Outcome::Warn),
        count(Outcome::Info),
        count(Outcome::Pass),
        count(Outcome::Unknown),
        count(Outcome::NotApplicable)
    );
    let _ = writeln!(out, "{}", score_line(report));
    if body.score.total.is_some() && !body.score.steps.is_empty() {
        let steps: Vec<String> = body
            .score
            .steps
            .iter()
            .map(|step| format!("{} (+{:.1})", step.code, step.points))
            .collect();
        let _ = writeln!(out, "what raises it most: {}", steps.join(", "));
    }
    if everything {
        for area in &body.score.areas {
            let score = area.score_text();
            let _ = writeln!(
                out,
                "  {:<26} {score:>4}  ({} passed, {} failed, {} unknown; coverage {:.0} %)",
                area.area.title(),
                area.passed,
                area.failed,
                area.unknown,
                100.0 * area.coverage
            );
        }
        let _ = writeln!(out, "\ntwelve factors");
        for row in &body.twelve_factor {
            let _ = writeln!(
                out,
                "  {:<5} {:<22} {:<13} {}",
                row.number, row.name, row.state, row.evidence
            );
        }
        let _ = writeln!(out, "\nnot assessed: questions for a human");
        for item in &body.not_assessed {
            let _ = writeln!(out, "  {}: {}", item.item, item.question);
        }
    }
    if !body.suppressed.is_empty() {
        let _ = writeln!(
            out,
            "{} findings are accepted by the project",
            body.suppressed.len()
        );
    }
    if body.known > 0 {
        let _ = writeln!(out, "{} findings are in the baseline", body.known);
    }
    if hidden > 0 {
        let _ = writeln!(out, "{hidden} notes are not shown: -v prints them");
    }
    printable(&out).into_owned()
}

fn files(count: usize) -> String {
    match count {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    }
}

/// What is counted apart, and how to count it in.
pub(super) fn apart_line(apart: &ApartCount) -> String {
    let (files, what, name) = (
        files(apart.files),
        apart.kind.description(),
        apart.kind.name(),
    );
    match (apart.errors, apart.warnings) {
        (Some(errors), Some(warnings)) => format!(
            "apart: {files} of {what} with {errors} errors and {warnings} warnings, not in the score: --include {name}"
        ),
        _ => format!("apart: {files} of {what}, not judged: --include {name}"),
    }
}

/// The score with its formula, interval and coverage in a line.
pub(super) fn score_line(report: &Report<AuditBody>) -> String {
    let score = &report.body.score;
    let weights: Vec<String> = score
        .weights
        .iter()
        .map(|(name, w)| format!("{name} {w}"))
        .collect();
    match score.total {
        None => format!(
            "score: not enough evidence (coverage {:.0} %)",
            100.0 * score.coverage
        ),
        Some(total) => format!(
            "score: {total:.0} of 100, between {:.0} and {:.0} for what is unknown, coverage {:.0} % ({}; weights: {})",
            score.interval.0,
            score.interval.1,
            100.0 * score.coverage,
            score.formula,
            weights.join(", ")
        ),
    }
}
