//! Two cases, measured in turns at the sizes that both list.

use std::path::Path;

use anyhow::{Result, bail};
use warpsmith_device::Device;
use warpsmith_measure::comparison::paired_rounds::{self, Comparison, ComparisonPlan, Side};
use warpsmith_measure::run_sampler::{RunMode, RunSampler};

use crate::kernel::bench::{CaseJob, Checked};
use crate::kernel::verify::case::without_gpu;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output;

/// What came of it: the comparisons by name, or why this machine cannot.
pub(super) enum Compared {
    Rows(Vec<(String, Comparison)>),
    Cannot(Outcome),
}

/// Compares B with A. A kernel that does not match its reference is an error: its time says nothing.
pub(super) fn compare(
    global: &Global,
    a: &Path,
    b: &Path,
    mode: RunMode,
    plan: &ComparisonPlan,
) -> Result<Compared> {
    let (from_a, from_b) = (CaseJob::all(a)?, CaseJob::all(b)?);
    let device = Device::open(global.device)?;
    if device.cuda().is_none() {
        for job in from_a.iter().chain(&from_b) {
            if job.needs_gpu() {
                return Ok(Compared::Cannot(without_gpu(global, &job.case)?));
            }
        }
    }
    device.warm_up()?;
    let mut rows = Vec::new();
    for job_a in &from_a {
        let Some(job_b) = from_b.iter().find(|job| job.size == job_a.size) else {
            continue;
        };
        let name = match job_a.name().split_once(' ') {
            Some((_, size)) => size.to_owned(),
            None => job_b.name(),
        };
        output::progress(global, &name);
        for job in [job_a, job_b] {
            match job.check(global, &device)? {
                Checked::Compared(Some(parity)) if !parity.holds() => bail!(
                    "`{}` is not compared: it does not match its reference ({parity:?})",
                    job.name()
                ),
                Checked::Compared(_) => {}
                Checked::Faulted(reason) => bail!("not compared: {reason}"),
            }
        }
        let mut sampler = RunSampler::new(&device, mode)?;
        let mut target_a = sampler.target(job_a.prepare(&device)?)?;
        let mut target_b = sampler.target(job_b.prepare(&device)?)?;
        let empty_a = sampler.begin(&job_a.name(), &target_a);
        let empty_b = sampler.begin(&job_b.name(), &target_b);
        let comparison = paired_rounds::run(
            plan,
            empty_a,
            empty_b,
            &mut |side| match side {
                Side::A => sampler.sample(&mut target_a),
                Side::B => sampler.sample(&mut target_b),
            },
            &mut |_| {},
        )?;
        rows.push((name, comparison));
    }
    if rows.is_empty() {
        bail!(
            "`{}` and `{}` list no size in common",
            a.display(),
            b.display()
        );
    }
    Ok(Compared::Rows(rows))
}
