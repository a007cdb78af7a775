//! Two cases, measured in turns at the sizes that both list.

use std::collections::BTreeSet;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use warpsmith_case::check_device;
use warpsmith_device::Device;
use warpsmith_measure::Parity;
use warpsmith_measure::comparison::paired_rounds::{self, Comparison, ComparisonPlan};
use warpsmith_measure::run_sampler::RunMode;

use super::pair::Pair;
use crate::kernel::bench::{CaseJob, Checked};
use crate::kernel::verify::case::without_gpu;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output;
use warpsmith_console::progress_line::ProgressLine;

/// What a size gets at least, where the checks before have used up the budget.
const LEAST: Duration = Duration::from_millis(500);

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
    let (mut from_a, mut from_b) = (jobs(global, a)?, jobs(global, b)?);
    let device = Device::open(global.device)?;
    if device.cuda().is_none() {
        for job in from_a.iter().chain(&from_b) {
            check_device(&job.case.source, device.choice())?;
            if job.needs_gpu() {
                return Ok(Compared::Cannot(without_gpu(global, &job.case)?));
            }
        }
    }
    for jobs in [&mut from_a, &mut from_b] {
        CaseJob::tell_interpreted(global, jobs, &device)?;
        CaseJob::take_winners(global, jobs, device.name(), &[])?;
    }
    let begun = Instant::now();
    let pairs: Vec<(&CaseJob, &CaseJob)> = from_a
        .iter()
        .filter_map(|a| Some((a, from_b.iter().find(|b| b.size == a.size)?)))
        .collect();
    let mut line = ProgressLine::new(global);
    if let (Some((job_a, job_b)), Some(_)) = (pairs.first(), device.cuda()) {
        output::progress(global, "comparing both with their references");
        // The first check of a case is that of all its sizes. Both at once: they take no times, and wait for
        // a context and for Python most of the time.
        thread::scope(|scope| -> Result<()> {
            let other = scope.spawn(|| job_b.check(global, &device));
            job_a.check(global, &device)?;
            match other.join() {
                Ok(checked) => checked.map(|_| ()),
                Err(_) => bail!("the check of `{}` ended in the middle", job_b.name()),
            }
        })?;
    }
    device.warm_up()?;
    let mut rows = Vec::new();
    for (at, (job_a, job_b)) in pairs.iter().enumerate() {
        let name = match job_a.name().split_once(' ') {
            Some((_, size)) => size.to_owned(),
            None => job_b.name(),
        };
        for job in [job_a, job_b] {
            match job.check(global, &device)? {
                Checked::Compared(Some(Parity::Incomparable { reason })) => bail!(
                    "`{}` is not compared: it does not match its reference ({reason}); `warpsmith verify {}` \
                     says more",
                    job.name(),
                    job.case.file.display()
                ),
                Checked::Compared(_) => {}
                Checked::Faulted(reason) => bail!("not compared: {reason}"),
            }
        }
        // The budget is that of the whole comparison; every size gets its share of what is left.
        let left = plan.budget.map(|budget| {
            let left = budget.saturating_sub(begun.elapsed());
            (left / u32::try_from(pairs.len() - at).unwrap_or(1)).max(LEAST)
        });
        let plan = ComparisonPlan {
            budget: left,
            ..*plan
        };
        let mut pair = Pair::new([job_a, job_b], &device, mode, left)?;
        let [empty_a, empty_b] = pair.begin();
        let mut taken = 0;
        let in_round = 2 * plan.pairs.max(1);
        let comparison = paired_rounds::run(
            &plan,
            empty_a,
            empty_b,
            &mut |side| {
                if taken > 0 && taken % in_round == 0 {
                    pair.begin_round()?;
                }
                taken += 1;
                line.update(|| format!("{name} ({} of {}): {taken} samples", at + 1, pairs.len()));
                pair.sample(side)
            },
            &mut |_| {},
        )?;
        rows.push((name, comparison));
    }
    line.clear();
    if rows.is_empty() {
        bail!(
            "`{}` and `{}` list no size in common",
            a.display(),
            b.display()
        );
    }
    Ok(Compared::Rows(rows))
}

/// A case at its sizes, or the one kernel of a Python file.
fn jobs(global: &Global, file: &Path) -> Result<Vec<CaseJob>> {
    if file.extension().is_none_or(|ending| ending != "py") {
        return CaseJob::all(file, &[]);
    }
    let jobs = CaseJob::drawn(global, file, None)?;
    let kernels: BTreeSet<&str> = jobs.iter().map(CaseJob::title).collect();
    if kernels.len() > 1 {
        bail!(
            "`{0}` has several kernels ({1}); `warpsmith new {0} --kernel NAME` writes a case for one",
            file.display(),
            Vec::from_iter(kernels).join(", ")
        );
    }
    Ok(jobs)
}
