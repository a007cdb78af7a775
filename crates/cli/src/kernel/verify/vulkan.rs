//! The part of `warpsmith verify` that is about Python kernels on Vulkan: the device against the
//! interpreter.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;
use warpsmith_device::VulkanDevice;
use warpsmith_execution::{Closeness, VulkanParity, verify_on_vulkan};

use super::jobs::{Kernels, SIZE, first};
use super::rows::{
    RACES, Row, Standing, Verdict, counted, difference, each, findings, first_line, outcome, table,
};
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
    // Drivers compile on every core; launches queue one after the other.
    let rows = each(global, kernels, |compiled| match compiled {
        Ok(module) => Fared {
            compiled: true,
            parity: verify_on_vulkan(device, &module, SIZE, kernels.seed),
        },
        Err(findings) => Fared {
            compiled: false,
            parity: VulkanParity::Refused {
                reason: first(&findings),
            },
        },
    });
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

    fn standing(&self) -> Standing<'_> {
        match &self.parity {
            VulkanParity::Agrees {
                not_deterministic, ..
            } => Standing::agreed(not_deterministic.as_deref()),
            VulkanParity::Disagrees { .. } => Standing::Disagrees,
            VulkanParity::Failed { .. } => Standing::Failed,
            VulkanParity::Refused { .. } if !self.compiled => Standing::Refused,
            VulkanParity::Refused { .. } | VulkanParity::NotExecutable { .. } => {
                Standing::NotCompared
            }
        }
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
