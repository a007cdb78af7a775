//! How long each workload takes here.

use anyhow::Result;
use warpsmith_measure::run_sampler::RunMode;
use warpsmith_measure::statistics::stop_rule::StopPlan;
use warpsmith_report::Facts;
use warpsmith_report::facts::Latency;
use warpsmith_workload::{Workload, affordable_settings};

use super::sample::{How, sample};
use crate::project::report::job::Job;
use warpsmith_console::catalogue;

/// What a quick report measures: each says something about the machine that the others do not.
const TELLING: [&str; 16] = [
    "machine/saxpy",
    "lattice/rd",
    "md/lj",
    "training/matmul",
    "voice/mel",
    "lattice/catalytic",
    "training/attention",
    "lattice/bfs",
    "training/softmax",
    "synth/phrase",
    "md/network",
    "voice/pyin",
    "training/adamw",
    "voice/resample",
    "training/conv2d",
    "synth/streams",
];

pub(in crate::project::report) fn collect(job: &Job, facts: &mut Facts) -> Result<Option<String>> {
    job.device.warm_up()?;
    let mut workloads = catalogue::workloads();
    // Launch latency has its own number: device time of a kernel that does nothing is not it.
    workloads.retain(|workload| workload.id() != "machine/launch");
    workloads.sort_by_key(|workload| place(workload.as_ref()));
    let all = workloads.len();
    if job.is_quick() {
        workloads.retain(|workload| place(workload.as_ref()) < TELLING.len());
    }
    let count = workloads.len();
    for (index, workload) in workloads.iter().enumerate() {
        if job.is_over() {
            let left: Vec<&str> = workloads[index..].iter().map(|left| left.id()).collect();
            facts
                .left_out
                .push(format!("latency of {} (the time was up)", left.join(", ")));
            break;
        }
        job.step(format!("{} of {count}: {}", index + 1, workload.id()));
        let how = How {
            mode: RunMode::Warm,
            plan: StopPlan {
                target: job.pick(0.01, 0.003),
                timeout: job.share(count - index, (0.1, job.pick(1.5, 6.0))),
                maximum_count: job.pick(3000, 5000),
                ..StopPlan::default()
            },
            settle: job.settle(),
        };
        let settings = affordable_settings(workload.as_ref(), &[], job.run_budget())?;
        let Some(sampled) = sample(workload.as_ref(), &job.device, &settings, how)? else {
            continue;
        };
        facts.latency.push(Latency {
            workload: workload.id().to_owned(),
            parameters: sampled.parameters.to_string(),
            bytes: sampled.cost.bytes.0,
            flops: sampled.cost.flops.0,
            units: sampled.cost.units,
            unit: sampled.cost.unit.to_owned(),
            memory: sampled.memory,
            measurement: sampled.measurement,
            figures: sampled.figures,
        });
    }
    if job.is_quick() && all > count {
        let more = all - count;
        facts.left_out.push(format!(
            "latency of {more} more workloads (`--full` measures them)"
        ));
    }
    facts.latency.sort_by(|a, b| a.workload.cmp(&b.workload));
    Ok(None)
}

fn place(workload: &dyn Workload) -> usize {
    TELLING
        .iter()
        .position(|id| *id == workload.id())
        .unwrap_or(TELLING.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tells_most_is_there() {
        for id in TELLING {
            assert!(catalogue::named(id).is_ok(), "{id}");
        }
    }
}
