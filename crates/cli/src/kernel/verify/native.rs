//! The part of `warpsmith verify` that is about Python kernels on the CPU: native code against the
//! interpreter, bit for bit.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use rayon::prelude::*;
use serde::Serialize;
use warpsmith_compiler::Options;
use warpsmith_core::{Finding, Severity};
use warpsmith_execution::{NativeParity, verify_natively};

use super::python::{Job, SIZE, first, read_jobs};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output;
use warpsmith_console::table::Table;

#[derive(Serialize)]
struct Body {
    verified_on: &'static str,
    counts: BTreeMap<&'static str, usize>,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    id: String,
    kernel: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<String>,
    #[serde(flatten)]
    parity: NativeParity,
}

/// Verifies every kernel of the file.
pub(super) fn run(
    global: &Global,
    file: &str,
    seed: u64,
    library: Option<Arc<str>>,
) -> Result<Outcome> {
    let options = Options {
        library,
        ..Options::default()
    };
    let jobs = read_jobs(Path::new(file))?;
    let verify = |job: &Job| Row {
        id: job.id.clone(),
        kernel: job.kernel.clone().unwrap_or_else(|| job.id.clone()),
        tier: job.tier.clone(),
        parity: match job.compile(&options) {
            Ok(module) => verify_natively(&module, SIZE, seed),
            Err(findings) => NativeParity::Refused {
                reason: first(&findings),
            },
        },
    };
    let rows: Vec<Row> = jobs.par_iter().map(verify).collect();
    let mut counts = BTreeMap::new();
    for row in &rows {
        *counts.entry(word(&row.parity)).or_default() += 1;
    }
    let verified_on = "cpu";
    let mut report = output::report(
        "verify kernels",
        Body {
            verified_on,
            counts,
            rows,
        },
    );
    report.findings = report.body.rows.iter().filter_map(finding).collect();
    output::print(global, &report, describe)?;
    Ok(Outcome::fine_if(report.findings.is_empty()))
}

fn word(parity: &NativeParity) -> &'static str {
    match parity {
        NativeParity::Agrees { backward: true, .. } => "agrees bit for bit, forward and backward",
        NativeParity::Agrees { .. } => "agrees bit for bit, forward",
        NativeParity::Disagrees { .. } => "DISAGREES",
        NativeParity::Interpreted { .. } => "interpreted",
        NativeParity::NotExecutable { .. } => "not executable on random arguments",
        NativeParity::Refused { .. } => "refused by the compiler",
    }
}

fn detail(parity: &NativeParity) -> String {
    match parity {
        NativeParity::Agrees { threads, fault, .. } => match fault {
            Some(fault) => format!("{threads} threads; both found: {fault}"),
            None => format!("{threads} threads"),
        },
        NativeParity::Disagrees {
            direction,
            difference,
        } => format!("{direction}: {difference}"),
        NativeParity::Interpreted { reason }
        | NativeParity::NotExecutable { reason }
        | NativeParity::Refused { reason } => reason.lines().next().unwrap_or_default().to_owned(),
    }
}

fn finding(row: &Row) -> Option<Finding> {
    let NativeParity::Disagrees { .. } = &row.parity else {
        return None;
    };
    let message = format!(
        "kernel `{}` as native code is not what the interpreter says",
        row.kernel
    );
    let finding = Finding::new("M050", Severity::Error, message);
    Some(finding.because(row.id.clone(), detail(&row.parity)))
}

fn describe(body: &Body) -> String {
    let mut table = Table::new(&["id", "kernel", "parity", "detail"]);
    let wrong = |row: &Row| matches!(row.parity, NativeParity::Disagrees { .. });
    for row in (body.rows.iter()).filter(|row| body.rows.len() <= 20 || wrong(row)) {
        table.row([
            row.id.clone(),
            row.kernel.clone(),
            word(&row.parity).to_owned(),
            detail(&row.parity),
        ]);
    }
    let mut text = format!("{table}\n");
    for (word, count) in &body.counts {
        text.push_str(&format!("{count:>6}  {word}\n"));
    }
    text
}
