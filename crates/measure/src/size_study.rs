//! One workload at one size after another: the raw material of a scaling law and of a crossover.

use serde::Serialize;
use warpsmith_device::Device;
use warpsmith_workload::{Parameters, Workload, WorkloadError};

use crate::cpu::closure::Progress;
use crate::measurement::{Figures, Measurement};
use crate::run_sampler::{RunMode, RunSampler};
use crate::scaling::SizePoint;
use crate::statistics::stop_rule::StopPlan;

/// A workload measured at one size.
#[derive(Clone, Debug, Serialize)]
pub struct SizeRow {
    /// Value of the size parameter.
    pub size: u64,
    /// Units of work at this size.
    pub units: u64,
    /// Every sample.
    pub measurement: Measurement,
    /// What they say.
    pub figures: Figures,
}

impl SizeRow {
    /// Size and median, for fitting.
    pub fn point(&self) -> SizePoint {
        SizePoint {
            size: self.size as f64,
            seconds: self.figures.interval.median,
        }
    }
}

/// How sizes are measured.
pub struct SizeStudy<'a> {
    /// What runs.
    pub workload: &'a dyn Workload,
    /// Where.
    pub device: &'a Device,
    /// What is timed.
    pub mode: RunMode,
    /// The parameter that is the size.
    pub parameter: &'a str,
    /// The other parameters that are not at their defaults.
    pub settings: &'a [(String, String)],
    /// When a size is done.
    pub plan: StopPlan,
}

impl SizeStudy<'_> {
    /// Measures one size.
    pub fn measure(
        &self,
        size: &str,
        watch: &mut dyn FnMut(&str, &Progress<'_>),
    ) -> Result<SizeRow, WorkloadError> {
        let workload = self.workload;
        let mut settings = self.settings.to_vec();
        settings.push((self.parameter.to_owned(), size.to_owned()));
        let parameters = Parameters::resolve(workload.parameters(), &settings)?;
        let mut sampler = RunSampler::new(self.device, self.mode)?;
        let mut target = sampler.target(workload.prepare(self.device, &parameters, 1)?)?;
        let name = format!("{} {}={size}", workload.id(), self.parameter);
        let mut measurement = sampler.begin(&name, &target);
        sampler.measure_round(&mut measurement, &mut target, &self.plan, &mut |progress| {
            watch(&name, progress);
        })?;
        let Some(figures) = measurement.figures() else {
            return Err(WorkloadError::Failed {
                workload: workload.id(),
                reason: format!("no samples at {}={size}", self.parameter),
            });
        };
        Ok(SizeRow {
            size: parameters.integer(self.parameter),
            units: workload.cost(&parameters).units,
            measurement,
            figures,
        })
    }
}
