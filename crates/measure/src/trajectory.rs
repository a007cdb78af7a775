//! Many steps of one workload in a row: the time of each, and memory along the way, each kind
//! judged for leaks.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use warpsmith_device::Device;
use warpsmith_workload::WorkloadError;

use crate::leak::detector::{LeakPlan, LeakReport, judge};
use crate::leak::resident::{available_bytes, page_bytes, resident_bytes};
use crate::measurement::{Measurement, Sample, SampleMode};
use crate::run_sampler::{RunSampler, RunTarget};

/// One kind of memory along the steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemorySeries {
    /// `process`, `device` or `ledger`.
    pub kind: String,
    /// Steps between readings.
    pub every: usize,
    /// Bytes in use at each reading.
    pub bytes: Vec<f64>,
    /// What follows, per step.
    pub report: LeakReport,
}

/// Steps in a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trajectory {
    /// The time of each step, from the call to the end of the wait.
    pub measurement: Measurement,
    /// When each step began, in seconds from the first: what lies between steps is no part of
    /// any of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub starts: Vec<f64>,
    /// Memory along the way.
    pub memory: Vec<MemorySeries>,
}

/// Readings that suffice for a verdict; more only cost time.
const READINGS: usize = 20_000;
/// `cuMemGetInfo` moves in blocks of this size.
const DEVICE_GRAIN: f64 = (2u64 << 20) as f64;

/// Judges readings that were taken every `every` steps; figures come back per step.
pub fn judge_readings(bytes: &[f64], every: usize, plan: &LeakPlan) -> LeakReport {
    let every = every.max(1);
    let k = every as f64;
    let mut report = judge(
        bytes,
        &LeakPlan {
            budget: plan.budget * k,
            ..*plan
        },
    );
    report.bytes_per_step /= k;
    report.low /= k;
    report.high /= k;
    report.steps *= every;
    report.warm_up_steps *= every;
    report.memory_ends_at = report
        .memory_ends_at
        .map(|step| step.saturating_mul(every as u64));
    report.steps_needed = report
        .steps_needed
        .map(|step| step.saturating_mul(every as u64));
    for shift in &mut report.shifts {
        shift.step *= every;
    }
    report
}

/// Runs `steps` steps; `watch` is told now and then how many are done, and says whether to go on.
pub fn run(
    name: &str,
    sampler: &RunSampler,
    target: &mut RunTarget,
    device: &Device,
    steps: usize,
    budget: f64,
    watch: &mut dyn FnMut(usize) -> bool,
) -> Result<Trajectory, WorkloadError> {
    let every = steps.div_ceil(READINGS).max(1);
    let mut measurement = sampler.begin(name, target);
    measurement.conditions.mode = SampleMode::Trajectory;
    measurement.conditions.inner_count = 1;
    measurement.conditions.overhead_seconds = 0.0;
    let capacity = steps / every + 1;
    // Touched now, so that our own growth is not in the process's trace.
    let mut process = vec![1.0; capacity];
    let mut in_use = vec![1.0; capacity];
    let mut ledger = vec![1.0; capacity];
    let mut starts = vec![1.0; steps];
    measurement.seconds = vec![1.0; steps];
    measurement.seconds.clear();
    for series in [&mut process, &mut in_use, &mut ledger, &mut starts] {
        series.clear();
    }
    let mut free = None;
    let first = Instant::now();
    for step in 0..steps {
        let start = Instant::now();
        starts.push(start.duration_since(first).as_secs_f64());
        target.run_and_wait()?;
        measurement.push(Sample::of_seconds(start.elapsed().as_secs_f64()));
        if step % every == 0 {
            if let Some(bytes) = resident_bytes(None) {
                process.push(bytes as f64);
            }
            if let Some(gpu) = device.cuda() {
                let memory = gpu.memory()?;
                free = Some(memory.free as f64);
                in_use.push((memory.total - memory.free) as f64);
                ledger.push(gpu.ledger().stats().live as f64);
            }
            if let Some(vulkan) = device.vulkan() {
                ledger.push(vulkan.ledger().stats().live as f64);
            }
            if step % (every * 64) == 0 && !watch(step) {
                break;
            }
        }
    }
    let plan = |grain, free| LeakPlan {
        budget,
        grain,
        free,
    };
    let host_free = available_bytes().map(|bytes| bytes as f64);
    let series = [
        ("process", process, plan(page_bytes() as f64, host_free)),
        ("device", in_use, plan(DEVICE_GRAIN, free)),
        ("ledger", ledger, plan(1.0, free)),
    ];
    let memory = series
        .into_iter()
        .filter(|(_, bytes, _)| !bytes.is_empty())
        .map(|(kind, bytes, plan)| MemorySeries {
            report: judge_readings(&bytes, every, &plan),
            kind: kind.to_owned(),
            every,
            bytes,
        })
        .collect();
    Ok(Trajectory {
        measurement,
        starts,
        memory,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leak::detector::LeakVerdict;

    #[test]
    fn sparse_readings_give_rates_per_step() {
        let bytes: Vec<f64> = (0..2000).map(|i| 1e6 + 5000.0 * f64::from(i)).collect();
        let plan = LeakPlan {
            free: Some(1e9),
            ..LeakPlan::default()
        };
        let report = judge_readings(&bytes, 10, &plan);
        assert_eq!(report.verdict, LeakVerdict::Leak);
        assert!((report.bytes_per_step - 500.0).abs() < 1.0);
        assert_eq!(report.steps, 20_000);
        assert!(report.memory_ends_at.unwrap().abs_diff(2_020_000) < 5000);
    }
}
