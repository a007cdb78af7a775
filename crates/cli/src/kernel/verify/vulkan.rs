//! The part of `warpsmith verify` that is about Python kernels on Vulkan: the device against the
//! interpreter.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use rayon::prelude::*;
use serde::Serialize;
use warpsmith_compiler::Options;
use warpsmith_core::{Finding, Severity};
use warpsmith_device::VulkanDevice;
use warpsmith_execution::{Closeness, VulkanParity, verify_on_vulkan};

use super::python::{Job, SIZE, first, read_jobs};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output;
use warpsmith_console::table::Table;

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
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    id: String,
    kernel: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<String>,
    /// Whether the compiler accepts it.
    compiled: bool,
    #[serde(flatten)]
    parity: VulkanParity,
}

/// Verifies every kernel of the file on the device.
pub(super) fn run(
    global: &Global,
    file: &str,
    device: &VulkanDevice,
    seed: u64,
    library: Option<Arc<str>>,
) -> Result<Outcome> {
    let options = Options {
        library,
        ..Options::default()
    };
    let jobs = read_jobs(Path::new(file))?;
    let done = AtomicUsize::new(0);
    // Drivers compile on every core; launches queue one after the other.
    let verify = |job: &Job| {
        let (compiled, parity) = match job.compile(&options) {
            Ok(module) => (true, verify_on_vulkan(device, &module, SIZE, seed)),
            Err(findings) => {
                let reason = first(&findings);
                (false, VulkanParity::Refused { reason })
            }
        };
        let done = 1 + done.fetch_add(1, Ordering::Relaxed);
        output::progress(global, &format!("{done} of {} kernels", jobs.len()));
        Row {
            id: job.id.clone(),
            kernel: job.kernel.clone().unwrap_or_else(|| job.id.clone()),
            tier: job.tier.clone(),
            compiled,
            parity,
        }
    };
    let rows: Vec<Row> = jobs.par_iter().map(verify).collect();
    output::progress(global, "");
    let facts = device.facts();
    let verified_on = format!(
        "{} (Vulkan {}), driver {}",
        facts.name, facts.api, facts.driver
    );
    let mut report = output::report("verify kernels", count(verified_on, rows));
    report.findings = report.body.rows.iter().filter_map(finding).collect();
    output::print(global, &report, describe)?;
    let wrong = report.body.rows.iter().any(is_wrong);
    Ok(Outcome::fine_if(!wrong))
}

fn count(verified_on: String, rows: Vec<Row>) -> Body {
    let mut body = Body {
        verified_on,
        compiled: rows.iter().filter(|row| row.compiled).count(),
        agree_forward: 0,
        agree_backward: 0,
        counts: BTreeMap::new(),
        refusals: BTreeMap::new(),
        rows,
    };
    for row in &body.rows {
        *body.counts.entry(word(row)).or_default() += 1;
        match &row.parity {
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
            VulkanParity::Refused { reason } if row.compiled => {
                *body.refusals.entry(reason.clone()).or_default() += 1;
            }
            _ => {}
        }
    }
    body
}

fn is_wrong(row: &Row) -> bool {
    matches!(
        row.parity,
        VulkanParity::Disagrees { .. } | VulkanParity::Failed { .. }
    )
}

fn word(row: &Row) -> &'static str {
    match &row.parity {
        VulkanParity::Agrees {
            forward, backward, ..
        } => match (forward, backward) {
            (Closeness::Bits, Some(Closeness::Bits)) => "agrees bit for bit, forward and backward",
            (Closeness::Bits, None) => "agrees bit for bit, forward",
            (Closeness::Conditioned, _) | (_, Some(Closeness::Conditioned)) => {
                "agrees as far as the inputs' last bits decide"
            }
            (_, Some(_)) => "agrees up to rounding, forward and backward",
            (_, None) => "agrees up to rounding, forward",
        },
        VulkanParity::Disagrees { .. } => "DISAGREES",
        VulkanParity::NotExecutable { .. } => "not executable on random arguments",
        VulkanParity::Refused { .. } if row.compiled => "not supported on Vulkan",
        VulkanParity::Refused { .. } => "refused by the compiler",
        VulkanParity::Failed { .. } => "FAILED",
    }
}

fn detail(parity: &VulkanParity) -> String {
    match parity {
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
            difference,
            threads,
        } => format!(
            "{direction}, {threads} threads: {} at {} is {:?}, expected {:?}",
            difference.place, difference.index, difference.actual, difference.expected
        ),
        VulkanParity::NotExecutable { reason }
        | VulkanParity::Refused { reason }
        | VulkanParity::Failed { reason } => reason.lines().next().unwrap_or_default().to_owned(),
    }
}

fn finding(row: &Row) -> Option<Finding> {
    let VulkanParity::Disagrees { .. } = &row.parity else {
        return None;
    };
    let message = format!(
        "kernel `{}` on Vulkan is not what the interpreter says",
        row.kernel
    );
    Some(
        Finding::new("M050", Severity::Error, message).because(row.id.clone(), detail(&row.parity)),
    )
}

fn describe(body: &Body) -> String {
    let mut table = Table::new(&["id", "kernel", "parity", "detail"]);
    for row in (body.rows.iter()).filter(|row| body.rows.len() <= 20 || is_wrong(row)) {
        table.row([
            row.id.clone(),
            row.kernel.clone(),
            word(row).to_owned(),
            detail(&row.parity),
        ]);
    }
    let mut text = format!("{table}\n");
    for (word, count) in &body.counts {
        text.push_str(&format!("{count:>6}  {word}\n"));
    }
    for (reason, count) in &body.refusals {
        text.push_str(&format!("{count:>6}  not supported: {reason}\n"));
    }
    text.push_str(&format!(
        "{} of {} compiled kernels agree forward, {} backward\non {}\n",
        body.agree_forward, body.compiled, body.agree_backward, body.verified_on
    ));
    text
}
