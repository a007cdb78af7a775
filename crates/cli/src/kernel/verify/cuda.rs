//! The part of `warpsmith verify` that is about Python kernels on CUDA: the GPU against the interpreter.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output;
use warpsmith_device::{CompileCache, CudaDevice, Nvrtc};
use warpsmith_execution::{KernelParity, verify_kernel};

use super::jobs::{Kernels, SIZE, first};
use super::rows::{
    RACES, Row, Standing, Verdict, counted, difference, each, findings, first_line, outcome, table,
};

#[derive(Serialize)]
struct Body {
    verified_on: String,
    counts: BTreeMap<&'static str, usize>,
    rows: Vec<Row<KernelParity>>,
}

/// Verifies every kernel of the file on the GPU.
pub(super) fn run(global: &Global, kernels: &Kernels, gpu: &CudaDevice) -> Result<Outcome> {
    let nvrtc = Nvrtc::find()?;
    let cache = CompileCache::for_user();
    // Compiling is most of the work and uses every core; launches queue on one stream.
    let rows = each(global, kernels, |compiled| match compiled {
        Ok(module) => verify_kernel(gpu, &nvrtc, &cache, &module, SIZE, kernels.seed),
        Err(findings) => KernelParity::Refused {
            reason: first(&findings),
        },
    });
    let facts = gpu.facts();
    let driver = facts.driver_version.as_deref().unwrap_or("unknown");
    let verified_on = format!("{} (sm_{}), driver {driver}", facts.name, facts.sm());
    let body = Body {
        verified_on,
        counts: counted(&rows),
        rows,
    };
    let mut report = output::report("verify kernels", body);
    report.findings = findings(&report.body.rows, "on the GPU");
    output::print(global, &report, |body| {
        let Body {
            verified_on,
            counts,
            rows,
        } = body;
        format!("{}on {verified_on}\n", table(rows, counts))
    })?;
    Ok(outcome(&report.body.rows))
}

impl Verdict for KernelParity {
    fn word(&self) -> &'static str {
        match self {
            KernelParity::Agrees {
                not_deterministic: Some(_),
                ..
            } => RACES,
            KernelParity::Agrees {
                ill_conditioned: true,
                ..
            } => "agrees as far as the inputs' last bits decide",
            KernelParity::Agrees { fused: false, .. } => "agrees without fused multiply-add",
            KernelParity::Agrees { backward: true, .. } => "agrees, forward and backward",
            KernelParity::Agrees { .. } => "agrees, forward",
            KernelParity::Disagrees { .. } => "DISAGREES",
            KernelParity::NotExecutable { .. } => "not executable on random arguments",
            KernelParity::Refused { .. } => "refused by the compiler",
            KernelParity::Failed { .. } => "FAILED",
        }
    }

    fn detail(&self) -> String {
        match self {
            KernelParity::Agrees {
                threads,
                not_deterministic,
                ..
            } => match not_deterministic {
                Some(race) => race.message.clone(),
                None => format!("{threads} threads"),
            },
            KernelParity::Disagrees {
                direction,
                difference: found,
                threads,
            } => difference(direction, *threads, found),
            KernelParity::NotExecutable { reason }
            | KernelParity::Refused { reason }
            | KernelParity::Failed { reason } => first_line(reason),
        }
    }

    fn standing(&self) -> Standing<'_> {
        match self {
            KernelParity::Agrees {
                not_deterministic, ..
            } => Standing::agreed(not_deterministic.as_deref()),
            KernelParity::Disagrees { .. } => Standing::Disagrees,
            KernelParity::Failed { .. } => Standing::Failed,
            KernelParity::Refused { .. } => Standing::Refused,
            KernelParity::NotExecutable { .. } => Standing::NotCompared,
        }
    }
}
