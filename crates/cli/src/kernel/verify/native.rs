//! The part of `warpsmith verify` that is about Python kernels on the CPU: native code against the
//! interpreter, bit for bit.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;
use warpsmith_execution::{NativeParity, verify_natively};

use super::jobs::{Kernels, SIZE, first};
use super::rows::{Row, Standing, Verdict, counted, each, findings, first_line, outcome, table};
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
    let rows = each(global, kernels, |compiled| match compiled {
        Ok(module) => verify_natively(&module, SIZE, kernels.seed),
        Err(findings) => NativeParity::Refused {
            reason: first(&findings),
        },
    });
    let body = Body {
        verified_on: "cpu",
        counts: counted(&rows),
        rows,
    };
    let mut report = output::report("verify kernels", body);
    report.findings = findings(&report.body.rows, "as native code");
    output::print(global, &report, |body| table(&body.rows, &body.counts))?;
    Ok(outcome(&report.body.rows))
}

impl Verdict for NativeParity {
    fn word(&self) -> &'static str {
        match self {
            NativeParity::Agrees {
                not_deterministic: Some(_),
                ..
            } => "agrees bit for bit in the order of threads, which race",
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
            NativeParity::Agrees {
                threads,
                fault,
                not_deterministic,
                ..
            } => match (fault, not_deterministic) {
                (Some(fault), _) => format!("{threads} threads; both found: {fault}"),
                (None, Some(race)) => format!("{threads} threads; {}", race.message),
                (None, None) => format!("{threads} threads"),
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

    fn standing(&self) -> Standing<'_> {
        match self {
            NativeParity::Agrees {
                not_deterministic, ..
            } => Standing::agreed(not_deterministic.as_deref()),
            NativeParity::Disagrees { .. } => Standing::Disagrees,
            NativeParity::Refused { .. } => Standing::Refused,
            NativeParity::Interpreted { .. } | NativeParity::NotExecutable { .. } => {
                Standing::NotCompared
            }
        }
    }
}
