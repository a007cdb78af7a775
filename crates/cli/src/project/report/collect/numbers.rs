//! The measurements behind the five numbers of the first screen.

use anyhow::Result;
use warpsmith_core::Bytes;
use warpsmith_device::Device;
use warpsmith_measure::cpu::steal::CpuTicks;
use warpsmith_measure::measurement::Measurement;
use warpsmith_measure::roofline::CeilingSamples;
use warpsmith_measure::run_sampler::RunMode;
use warpsmith_measure::statistics::stop_rule::StopPlan;
use warpsmith_report::Facts;
use warpsmith_report::facts::Rate;

use super::sample::{How, sample};
use crate::project::report::job::Job;
use warpsmith_console::catalogue;

/// Copies whose rate is a link's, not a latency's.
const TRANSFER: &str = "67108864";

pub(in crate::project::report) fn collect(job: &Job, facts: &mut Facts) -> Result<Option<String>> {
    job.device.warm_up()?;
    match &job.device {
        Device::Cuda(_) => on_gpu(job, facts)?,
        Device::Vulkan(_) => on_vulkan(job, facts)?,
        Device::Cpu(_) => on_cpu(job, facts)?,
    }
    Ok(None)
}

fn on_gpu(job: &Job, facts: &mut Facts) -> Result<()> {
    job.step("arithmetic");
    let ceilings = CeilingSamples::take(&job.device, job.pick(20, 60))?;
    facts.numbers.arithmetic = Some(Rate {
        amount: ceilings.operations,
        size: String::new(),
        measurement: imported(job, "multiply-add", ceilings.sums, None),
    });
    job.step("memory");
    facts.numbers.memory = rate(job, "machine/copy", &[], RunMode::Warm, 5)?;
    job.step("launch");
    let launch = [("what", "one")];
    facts.numbers.launch =
        rate(job, "machine/launch", &launch, RunMode::EndToEnd, 4)?.map(|rate| rate.measurement);
    for (what, left) in [("pinned", 3), ("pageable", 2)] {
        job.step(format!("{what} copy"));
        let settings = [("what", what), ("bytes", TRANSFER)];
        let measured = rate(job, "machine/launch", &settings, RunMode::EndToEnd, left)?;
        match what {
            "pinned" => facts.numbers.pinned = measured,
            _ => facts.numbers.pageable = measured,
        }
    }
    Ok(())
}

fn on_vulkan(job: &Job, facts: &mut Facts) -> Result<()> {
    job.step("memory and arithmetic");
    let ceilings = CeilingSamples::take(&job.device, job.pick(20, 60))?;
    note_ceilings(job, facts, ceilings, None);
    job.step("launch");
    let launch = [("what", "one")];
    facts.numbers.launch =
        rate(job, "machine/launch", &launch, RunMode::EndToEnd, 1)?.map(|rate| rate.measurement);
    Ok(())
}

fn on_cpu(job: &Job, facts: &mut Facts) -> Result<()> {
    job.step("memory and arithmetic");
    let ticks = CpuTicks::read();
    let ceilings = CeilingSamples::take(&job.device, job.pick(40, 80))?;
    let steal = ticks
        .zip(CpuTicks::read())
        .and_then(|(early, late)| late.stolen_share_since(&early));
    note_ceilings(job, facts, ceilings, steal);
    job.step("start work");
    let launch = [("what", "one")];
    facts.numbers.launch =
        rate(job, "machine/launch", &launch, RunMode::Warm, 2)?.map(|rate| rate.measurement);
    job.step("copy in cache");
    let cached = [("bytes", "1048576")];
    facts.numbers.cached = rate(job, "machine/copy", &cached, RunMode::Warm, 1)?;
    Ok(())
}

fn note_ceilings(job: &Job, facts: &mut Facts, ceilings: CeilingSamples, steal: Option<f64>) {
    facts.numbers.memory = Some(Rate {
        amount: ceilings.bytes,
        size: Bytes(ceilings.bytes as u64 / 2).to_string(),
        measurement: imported(job, "copy", ceilings.copies, steal),
    });
    facts.numbers.arithmetic = Some(Rate {
        amount: ceilings.operations,
        size: String::new(),
        measurement: imported(job, "multiply-add", ceilings.sums, steal),
    });
}

fn imported(job: &Job, name: &str, seconds: Vec<f64>, steal: Option<f64>) -> Measurement {
    let mut measurement = Measurement::imported(name, seconds);
    job.device
        .name()
        .clone_into(&mut measurement.conditions.device);
    measurement.conditions.steal_share = steal;
    measurement
}

/// Samples a workload with `settings`, in an even share of what is left among `left` of them.
fn rate(
    job: &Job,
    id: &str,
    settings: &[(&str, &str)],
    mode: RunMode,
    left: usize,
) -> Result<Option<Rate>> {
    let workload = catalogue::named(id)?;
    let settings: Vec<(String, String)> = settings
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let how = How {
        mode,
        plan: StopPlan {
            target: job.pick(0.005, 0.002),
            timeout: job.share(left, (0.2, job.pick(1.0, 4.0))),
            maximum_count: 5000,
            ..StopPlan::default()
        },
        settle: job.settle(),
    };
    let sampled = sample(workload.as_ref(), &job.device, &settings, how)?;
    Ok(sampled.map(|sampled| {
        let bytes = sampled.cost.bytes.0;
        Rate {
            amount: bytes as f64,
            size: match bytes {
                0 => String::new(),
                // A copy reads and writes; its size is what it reads.
                bytes if id == "machine/copy" => Bytes(bytes / 2).to_string(),
                bytes => Bytes(bytes).to_string(),
            },
            measurement: sampled.measurement,
        }
    }))
}
