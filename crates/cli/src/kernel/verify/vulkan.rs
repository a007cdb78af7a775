//! The part of `warpsmith verify` that is about Python kernels on Vulkan: the device against the
//! interpreter.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use rayon::prelude::*;
use serde::Serialize;
use warpsmith_core::Finding;
use warpsmith_device::VulkanDevice;
use warpsmith_execution::{Closeness, VulkanParity, verify_on_vulkan};

use super::jobs::{Job, Kernels, SIZE, first};
use super::rows::{RACES, Row, Verdict, counted, difference, findings, first_line, outcome, table};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output;

#[derive(Serialize)]
struct Body {
    verified_on: String,
    /// Kernels that the compiler accepts.
    compiled: usize,
    /// Of these, those that ran and agreed, forward and backward.
    agree_forward: usize,
    agree_backward: usize,
    counts: BTreeMap<&'static str, usize>,
    /// Why kernels were refused, and how many for it.
    refusals: BTreeMap<String, usize>,
    rows: Vec<Row<Fared>>,
}

/// How a kernel fared.
#[derive(Serialize)]
struct Fared {
    /// Whether the compiler accepts it.
    compiled: bool,
    #[serde(flatten)]
    parity: VulkanParity,
}

/// Verifies every kernel of the file on the device.
pub(super) fn run(global: &Global, kernels: &Kernels, device: &VulkanDevice) -> Result<Outcome> {
    let (jobs, seed) = (&kernels.jobs, kernels.seed);
    let done = AtomicUsize::new(0);
    // Drivers compile on every core; launches queue one after the other.
    let verify = |job: &Job| {
        let (compiled, parity) = match kernels.compile(job) {
            Ok(module) => (true, verify_on_vulkan(device, &module, SIZE, seed)),
            Err(findings) => {
                let reason = first(&findings);
                (false, VulkanParity::Refused { reason })
            }
        };
        let done = 1 + done.fetch_add(1, Ordering::Relaxed);
        output::progress(global, &format!("{done} of {} kernels", jobs.len()));
        Row::new(job, Fared { compiled, parity })
    };
    let rows: Vec<_> = jobs.par_iter().map(verify).collect();
    output::progress(global, "");
    let facts = device.facts();
    let verified_on = format!(
        "{} (Vulkan {}), driver {}",
        facts.name, facts.api, facts.driver
    );
    let mut report = output::report("verify kernels", count(verified_on, rows));
    report.findings = findings(&report.body.rows, "on Vulkan");
    output::print(global, &report, describe)?;
    Ok(outcome(&report.body.rows))
}

fn count(verified_on: String, rows: Vec<Row<Fared>>) -> Body {
    let mut body = Body {
        verified_on,
        compiled: rows.iter().filter(|row| row.verdict.compiled).count(),
        agree_forward: 0,
        agree_backward: 0,
        counts: counted(&rows),
        refusals: BTreeMap::new(),
        rows,
    };
    for row in &body.rows {
        match &row.verdict.parity {
            VulkanParity::Agrees {
                backward,
                backward_refused,
                ..
            } => {
                body.agree_forward += 1;
                body.agree_backward += usize::from(backward.is_some());
                if let Some(reason) = backward_refused {
                    *body.refusals.entry(reason.clone()).or_default() += 1;
                }
            }
            VulkanParity::Refused { reason } if row.verdict.compiled => {
                *body.refusals.entry(reason.clone()).or_default() += 1;
            }
            _ => {}
        }
    }
    body
}

impl Verdict for Fared {
    fn word(&self) -> &'static str {
        match &self.parity {
            VulkanParity::Agrees {
                not_deterministic: Some(_),
                ..
            } => RACES,
            VulkanParity::Agrees {
                forward, backward, ..
            } => match (forward, backward) {
                (Closeness::Bits, Some(Closeness::Bits)) => {
                    "agrees bit for bit, forward and backward"
                }
                (Closeness::Bits, None) => "agrees bit for bit, forward",
                (Closeness::Conditioned, _) | (_, Some(Closeness::Conditioned)) => {
                    "agrees as far as the inputs' last bits decide"
                }
                (_, Some(_)) => "agrees up to rounding, forward and backward",
                (_, None) => "agrees up to rounding, forward",
            },
            VulkanParity::Disagrees { .. } => "DISAGREES",
            VulkanParity::NotExecutable { .. } => "not executable on random arguments",
            VulkanParity::Refused { .. } if self.compiled => "not supported on Vulkan",
            VulkanParity::Refused { .. } => "refused by the compiler",
            VulkanParity::Failed { .. } => "FAILED",
        }
    }

    fn detail(&self) -> String {
        match &self.parity {
            VulkanParity::Agrees {
                not_deterministic: Some(race),
                ..
            } => race.message.clone(),
            VulkanParity::Agrees {
                threads,
                backward_refused,
                ..
            } => match backward_refused {
                Some(reason) => format!("{threads} threads; backward: {reason}"),
                None => format!("{threads} threads"),
            },
            VulkanParity::Disagrees {
                direction,
                difference: found,
                threads,
            } => difference(direction, *threads, found),
            VulkanParity::NotExecutable { reason }
            | VulkanParity::Refused { reason }
            | VulkanParity::Failed { reason } => first_line(reason),
        }
    }

    fn disagrees(&self) -> bool {
        matches!(self.parity, VulkanParity::Disagrees { .. })
    }

    fn failed(&self) -> bool {
        matches!(self.parity, VulkanParity::Failed { .. })
    }

    fn refused(&self) -> bool {
        !self.compiled
    }

    fn race(&self) -> Option<&Finding> {
        match &self.parity {
            VulkanParity::Agrees {
                not_deterministic, ..
            } => not_deterministic.as_deref(),
            _ => None,
        }
    }

    fn agrees(&self) -> bool {
        matches!(self.parity, VulkanParity::Agrees { .. })
    }
}

fn describe(body: &Body) -> String {
    let mut text = table(&body.rows, &body.counts);
    for (reason, count) in &body.refusals {
        text.push_str(&format!("{count:>6}  not supported: {reason}\n"));
    }
    text.push_str(&format!(
        "{} of {} compiled kernels agree forward, {} backward\non {}\n",
        body.agree_forward, body.compiled, body.agree_backward, body.verified_on
    ));
    text
}
