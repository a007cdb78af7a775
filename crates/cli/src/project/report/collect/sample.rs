//! A workload sampled on a device: what every measuring section does.

use std::time::Duration;

use warpsmith_device::Device;
use warpsmith_measure::leak::resident::resident_bytes;
use warpsmith_measure::measurement::{Figures, Measurement};
use warpsmith_measure::run_sampler::{RunMode, RunSampler};
use warpsmith_measure::statistics::stop_rule::StopPlan;
use warpsmith_workload::{Cost, Parameters, Workload, WorkloadError};

/// A sampled workload.
pub(super) struct Sampled {
    pub(super) parameters: Parameters,
    pub(super) cost: Cost,
    /// Memory that it holds, in bytes.
    pub(super) memory: Option<u64>,
    pub(super) measurement: Measurement,
    pub(super) figures: Figures,
}

/// How a workload is sampled.
#[derive(Clone, Copy)]
pub(super) struct How {
    pub(super) mode: RunMode,
    pub(super) plan: StopPlan,
    pub(super) settle: Duration,
}

/// Samples `workload`; nothing where it has no form for this device.
pub(super) fn sample(
    workload: &dyn Workload,
    device: &Device,
    settings: &[(String, String)],
    how: How,
) -> Result<Option<Sampled>, WorkloadError> {
    let parameters = Parameters::resolve(workload.parameters(), settings)?;
    let mut sampler = RunSampler::new(device, how.mode)?;
    sampler.set_settle(how.settle);
    let before = memory_held(device);
    let prepared = match workload.prepare(device, &parameters, 1) {
        Err(WorkloadError::Unsupported { .. }) => return Ok(None),
        other => other?,
    };
    let mut target = sampler.target(prepared)?;
    let memory = memory_held(device)
        .zip(before)
        .map(|(now, then)| now.saturating_sub(then))
        // A process that gave pages back in between tells nothing.
        .filter(|bytes| *bytes > 0);
    let mut measurement = sampler.begin(workload.id(), &target);
    sampler.measure_round(&mut measurement, &mut target, &how.plan, &mut |_| {})?;
    Ok(measurement.figures().map(|figures| Sampled {
        cost: workload.cost(&parameters),
        parameters,
        memory,
        measurement,
        figures,
    }))
}

/// What a GPU's buffers hold, or what the process holds where the device is the CPU.
fn memory_held(device: &Device) -> Option<u64> {
    match device {
        Device::Cuda(gpu) => Some(gpu.ledger().stats().live),
        Device::Vulkan(device) => Some(device.ledger().stats().live),
        Device::Cpu(_) => resident_bytes(None),
    }
}
