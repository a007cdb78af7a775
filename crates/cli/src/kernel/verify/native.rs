//! The part of `warpsmith verify` that is about Python kernels on the CPU: native code against the
//! interpreter, bit for bit.

use std::collections::BTreeMap;

use anyhow::Result;
use rayon::prelude::*;
use serde::Serialize;
use warpsmith_execution::{NativeParity, verify_natively};

use super::jobs::{Job, Kernels, SIZE, first};
use super::rows::{Row, Verdict, counted, findings, first_line, table};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output;

#[derive(Serialize)]
struct Body {
    verified_on: &'static str,
    counts: BTreeMap<&'static str, usize>,
    rows: Vec<Row<NativeParity>>,
}

/// Verifies every kernel of the file.
pub(super) fn run(global: &Global, kernels: &Kernels) -> Result<Outcome> {
    let (jobs, seed) = (&kernels.jobs, kernels.seed);
    let verify = |job: &Job| {
        let parity = match kernels.compile(job) {
            Ok(module) => verify_natively(&module, SIZE, seed),
            Err(findings) => NativeParity::Refused {
                reason: first(&findings),
            },
        };
        Row::new(job, parity)
    };
    let rows: Vec<_> = jobs.par_iter().map(verify).collect();
    let body = Body {
        verified_on: "cpu",
        counts: counted(&rows),
        rows,
    };
    let mut report = output::report("verify kernels", body);
    report.findings = findings(&report.body.rows, "as native code");
    output::print(global, &report, |body| table(&body.rows, &body.counts))?;
    Ok(Outcome::fine_if(report.findings.is_empty()))
}

impl Verdict for NativeParity {
    fn word(&self) -> &'static str {
        match self {
            NativeParity::Agrees { backward: true, .. } => {
                "agrees bit for bit, forward and backward"
            }
            NativeParity::Agrees { .. } => "agrees bit for bit, forward",
            NativeParity::Disagrees { .. } => "DISAGREES",
            NativeParity::Interpreted { .. } => "interpreted",
            NativeParity::NotExecutable { .. } => "not executable on random arguments",
            NativeParity::Refused { .. } => "refused by the compiler",
        }
    }

    fn detail(&self) -> String {
        match self {
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
            | NativeParity::Refused { reason } => first_line(reason),
        }
    }

    fn disagrees(&self) -> bool {
        matches!(self, NativeParity::Disagrees { .. })
    }

    fn failed(&self) -> bool {
        false
    }
}
