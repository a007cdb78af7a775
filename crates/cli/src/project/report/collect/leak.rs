//! Memory over the steps of a trajectory.

use std::time::Instant;

use anyhow::Result;
use warpsmith_device::Device;
use warpsmith_measure::leak::detector::LeakPlan;
use warpsmith_measure::run_sampler::{RunMode, RunSampler};
use warpsmith_measure::trajectory;
use warpsmith_report::Facts;
use warpsmith_report::facts::LeakFacts;
use warpsmith_workload::Parameters;

use crate::project::report::job::Job;
use warpsmith_console::catalogue;

/// What goes through the steps, and how large it is.
const ATOMS: (&str, &str, &str) = ("md/lj", "n", "4000");
/// The same where there are no atoms.
const CELLS: (&str, &str, &str) = ("lattice/rd", "n", "48");
/// Fewer steps rule nothing out; more tell nothing new.
const STEPS: (usize, usize) = (200, 20_000);

pub(in crate::project::report) fn collect(job: &Job, facts: &mut Facts) -> Result<Option<String>> {
    let (id, name, value) = match job.device {
        Device::Vulkan(_) => CELLS,
        Device::Cpu(_) | Device::Cuda(_) => ATOMS,
    };
    let workload = catalogue::named(id)?;
    let setting = (name.to_owned(), value.to_owned());
    let parameters = Parameters::resolve(workload.parameters(), &[setting])?;
    let mut sampler = RunSampler::new(&job.device, RunMode::EndToEnd)?;
    sampler.set_settle(job.settle());
    let mut target = sampler.target(workload.prepare(&job.device, &parameters, 1)?)?;
    let begun = Instant::now();
    for _ in 0..5 {
        target.run_and_wait()?;
    }
    let step = begun.elapsed().as_secs_f64() / 5.0;
    let fitting = 0.7 * job.left().as_secs_f64() / step.max(1e-6);
    if fitting < STEPS.0 as f64 {
        let why = format!("leak over a trajectory (only {fitting:.0} steps fit into the time)");
        facts.left_out.push(why);
        return Ok(Some("too few steps fit into the time".to_owned()));
    }
    let steps = (fitting as usize).clamp(STEPS.0, STEPS.1);
    let budget = LeakPlan::default().budget;
    let done = trajectory::run(
        id,
        &sampler,
        &mut target,
        &job.device,
        steps,
        budget,
        &mut |step| {
            job.step(format!("step {step} of {steps}"));
            true
        },
    )?;
    facts.leak = Some(LeakFacts {
        workload: id.to_owned(),
        steps,
        memory: done.memory,
    });
    Ok(None)
}
