//! What is sampled: work that this process runs, or a Python function that times itself in its own.

use anyhow::Result;
use warpsmith_case::TimedFunction;
use warpsmith_device::Device;
use warpsmith_measure::cpu::closure::Progress;
use warpsmith_measure::measurement::Measurement;
use warpsmith_measure::run_sampler::{RunSampler, RunTarget};
use warpsmith_measure::statistics::stop_rule::StopPlan;

use crate::kernel::verify::case::explain;

/// Something that gives samples.
#[allow(clippy::large_enum_variant)] // There are as many of these as rows of a table.
pub(crate) enum Sampled {
    Here(RunSampler, RunTarget),
    Function(TimedFunction),
}

impl Sampled {
    /// An empty measurement with the conditions of its samples.
    pub(crate) fn begin(&self, name: &str, device: &Device) -> Measurement {
        match self {
            Self::Here(sampler, target) => sampler.begin(name, target),
            Self::Function(function) => function.begin(name, device.name()),
        }
    }

    /// Samples until the plan is met, appending a round.
    pub(crate) fn measure_round(
        &mut self,
        measurement: &mut Measurement,
        plan: &StopPlan,
        watch: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<()> {
        match self {
            Self::Here(sampler, target) => {
                Ok(sampler.measure_round(measurement, target, plan, watch)?)
            }
            Self::Function(function) => function
                .measure_round(measurement, plan, watch)
                .map_err(explain),
        }
    }

    /// Samples that contain launch latency because the work could not be queued ahead.
    pub(crate) fn unheld(&self) -> usize {
        match self {
            Self::Here(sampler, _) => sampler.unheld(),
            Self::Function(_) => 0,
        }
    }
}
