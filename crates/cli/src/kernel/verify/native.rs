//! The part of `warpsmith verify` that is about Python kernels on the CPU: native code against the
//! interpreter, bit for bit.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use rayon::prelude::*;
use serde::Serialize;
use warpsmith_core::Finding;
use warpsmith_execution::{NativeParity, verify_natively};

use super::jobs::{Job, Kernels, SIZE, first};
use super::rows::{Row, Verdict, counted, findings, first_line, outcome, table};
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
    let done = AtomicUsize::new(0);
    let verify = |job: &Job| {
        let parity = match kernels.compile(job) {
            Ok(module) => verify_natively(&module, SIZE, seed),
            Err(findings) => NativeParity::Refused {
                reason: first(&findings),
            },
        };
        let done = 1 + done.fetch_add(1, Ordering::Relaxed);
        output::progress(global, &format!("{done} of {} kernels", jobs.len()));
        Row::new(job, parity)
    };
    let rows: Vec<_> = jobs.par_iter().map(verify).collect();
    output::progress(global, "");
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

    fn disagrees(&self) -> bool {
        matches!(self, NativeParity::Disagrees { .. })
    }

    fn failed(&self) -> bool {
        false
    }

    fn refused(&self) -> bool {
        matches!(self, NativeParity::Refused { .. })
    }

    fn race(&self) -> Option<&Finding> {
        match self {
            NativeParity::Agrees {
                not_deterministic, ..
            } => not_deterministic.as_deref(),
            _ => None,
        }
    }

    fn agrees(&self) -> bool {
        matches!(self, NativeParity::Agrees { .. })
    }
}
