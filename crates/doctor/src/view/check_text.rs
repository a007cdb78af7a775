//! `check` on a terminal: areas with ticks, one line each, details on demand.

use std::collections::BTreeMap;
use std::fmt::Write;

use warpsmith_core::{Certainty, Confidence, Finding, Report};

use crate::catalog::Area;
use crate::machine::CheckBody;
use crate::outcome::Outcome;

/// How much to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Areas and causes.
    Summary,
    /// Every rule with its reason, specification and matrix.
    Everything,
}

/// The report as text.
pub fn check_text(report: &Report<CheckBody>, detail: Detail) -> String {
    let mut out = String::new();
    let machine = &report.machine;
    let gpus = match machine.gpus.as_slice() {
        [] => "no NVIDIA GPU".to_owned(),
        names => names.join(", "),
    };
    let driver = machine
        .driver
        .as_deref()
        .map_or(String::new(), |d| format!(", driver {d}"));
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{gpus}{driver} · {}", machine.system.trim());
    let mut areas: BTreeMap<Area, Vec<_>> = BTreeMap::new();
    for outcome in &report.body.outcomes {
        areas.entry(outcome.area).or_default().push(outcome);
    }
    for (area, outcomes) in &areas {
        let count = |wanted: Outcome| outcomes.iter().filter(|o| o.outcome == wanted).count();
        let (failed, warned, unknown) = (
            count(Outcome::Fail),
            count(Outcome::Warn),
            count(Outcome::Unknown),
        );
        let mark = match () {
            () if failed > 0 => Outcome::Fail,
            () if warned > 0 => Outcome::Warn,
            () if count(Outcome::Pass) + count(Outcome::Info) == 0 => Outcome::NotApplicable,
            () => Outcome::Pass,
        };
        let mut parts = Vec::new();
        for (n, word) in [
            (failed, "failed"),
            (warned, "to look at"),
            (count(Outcome::Pass), "fine"),
            (count(Outcome::Info), "noted"),
            (unknown, "unknown"),
        ] {
            if n > 0 {
                parts.push(format!("{n} {word}"));
            }
        }
        if parts.is_empty() {
            parts.push("nothing to check here".to_owned());
        }
        let _ = writeln!(
            out,
            "[{}] {:<27} {}",
            mark.mark(),
            area.title(),
            parts.join(", ")
        );
        if detail == Detail::Everything {
            for outcome in outcomes {
                let why = outcome
                    .why
                    .as_deref()
                    .map_or(String::new(), |w| format!(" ({w})"));
                let _ = writeln!(
                    out,
                    "      {} {} {}{why}",
                    outcome.outcome.mark(),
                    outcome.code,
                    outcome.title
                );
            }
        }
    }
    let loud: Vec<_> = report
        .body
        .causes
        .iter()
        .filter(|c| {
            detail == Detail::Everything || c.finding.severity > warpsmith_core::Severity::Info
        })
        .collect();
    if loud.is_empty() {
        let _ = writeln!(out, "\nNothing to fix.");
    }
    for cause in loud {
        out.push('\n');
        write_finding(&mut out, &cause.finding, "");
        for consequence in &cause.consequences {
            let _ = writeln!(out, "  └ {} {}", consequence.code, consequence.message);
        }
    }
    if detail == Detail::Everything {
        for gpu in &report.body.gpus {
            let _ = writeln!(
                out,
                "\nGPU {}: {} · compute capability {} · {} MiB · {} GB/s · {} W",
                gpu.index,
                gpu.name,
                gpu.compute_capability.as_deref().unwrap_or("?"),
                gpu.memory_mib.map_or("?".into(), |m| m.to_string()),
                gpu.bandwidth_gb_s.map_or("?".into(), |b| b.to_string()),
                gpu.tdp_w.map_or("?".into(), |w| w.to_string()),
            );
        }
        if !report.body.matrix.is_empty() {
            let _ = writeln!(
                out,
                "\n{:<22} {:<18} {:<7} {:<7} code for this GPU",
                "library", "version", "CUDA", "driver"
            );
            for row in &report.body.matrix {
                let runs = row
                    .driver_runs_it
                    .map_or("?", |r| if r { "ok" } else { "too old" });
                let _ = writeln!(
                    out,
                    "{:<22} {:<18} {:<7} {:<7} {}",
                    row.library,
                    row.version,
                    row.cuda.as_deref().unwrap_or("-"),
                    runs,
                    row.gpu_code.as_deref().unwrap_or("?")
                );
            }
        }
    } else {
        let _ = writeln!(
            out,
            "\n`warpsmith check -v` shows every rule, `warpsmith explain CODE` one of them; database of {}",
            report.body.database
        );
    }
    out
}

pub(super) fn write_finding(out: &mut String, finding: &Finding, indent: &str) {
    let mark = Outcome::of(finding.severity).mark();
    let _ = writeln!(out, "{indent}{mark} {} {}", finding.code, finding.message);
    for evidence in &finding.evidence {
        let _ = writeln!(out, "{indent}    {}: {}", evidence.source, evidence.seen);
    }
    // What is certain needs no word about it.
    if let Some(confidence) = &finding.confidence
        && confidence.certainty < Certainty::Certain
    {
        let Confidence { certainty, why } = confidence;
        let _ = writeln!(out, "{indent}    {certainty}: {why}");
    }
    if let Some(hint) = &finding.hint {
        let mut lines = hint.lines();
        let _ = writeln!(out, "{indent}  → {}", lines.next().unwrap_or(""));
        for line in lines {
            let _ = writeln!(out, "{indent}    {line}");
        }
    }
}
