//! A workload over a ragged batch of voices as one declaration: what it is called, how it is planned, what it
//! costs, and its two sides.

use warpsmith_core::{Bytes, Flops};
use warpsmith_device::{CudaDevice, Device};
use warpsmith_signal::Result as SignalResult;
use warpsmith_workload::{
    About, ArguedTolerance, Cost, ParameterSpec, Parameters, Ready, Workload, WorkloadError,
};

use super::cpu_files::{Analyse, CpuFiles, checked};
use super::ragged::{Batch, PARAMETERS, lengths};

/// A batch prepared on a device.
pub(crate) type Made = Ready;

/// What follows from the parameters is a `Plan`, which is quickly made; an `Engine` analyses signals on the CPU.
pub(crate) struct BatchWorkload<Plan, Engine> {
    pub(crate) about: About,
    pub(crate) tolerance: fn(&Parameters) -> ArguedTolerance,
    pub(crate) plan: fn(&Parameters) -> SignalResult<Plan>,
    /// Of signals of these lengths.
    pub(crate) cost: fn(&Plan, &[usize]) -> Cost,
    /// Frames of a signal of so many samples.
    pub(crate) frames: fn(&Plan, usize) -> usize,
    /// Values that the engine makes of a signal of so many samples.
    pub(crate) values: fn(&Plan, usize) -> usize,
    pub(crate) engine: fn(&Parameters) -> SignalResult<Engine>,
    pub(crate) analyse: Analyse<Engine>,
    pub(crate) on_cuda: fn(&CudaDevice, Plan, &Batch) -> Made,
}

/// A workload whose only parameters are those of the batch.
pub(crate) const fn about(id: &'static str, summary: &'static str) -> About {
    about_with(id, summary, PARAMETERS)
}

/// A workload with parameters of its own.
pub(crate) const fn about_with(
    id: &'static str,
    summary: &'static str,
    parameters: &'static [ParameterSpec],
) -> About {
    About::new(id, summary, parameters).sizes("seconds", &["2", "4", "15", "60", "240", "600"])
}

/// The cost of operations that read all samples and write `values` numbers to a frame.
pub(crate) fn frames_cost(samples: usize, frames: usize, values: usize, flops: u64) -> Cost {
    Cost {
        bytes: Bytes(4 * (samples + frames * values) as u64),
        flops: Flops(flops),
        units: frames as u64,
        unit: "frame",
    }
}

impl<Plan, Engine: Send + 'static> Workload for BatchWorkload<Plan, Engine> {
    fn about(&self) -> About {
        self.about
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let plan = (self.plan)(parameters);
        plan.map_or_else(
            |_| Cost::default(),
            |plan| (self.cost)(&plan, &lengths(parameters)),
        )
    }

    fn tolerance(&self, parameters: &Parameters) -> ArguedTolerance {
        (self.tolerance)(parameters)
    }

    fn prepare(&self, device: &Device, parameters: &Parameters, seed: u64) -> Made {
        let plan = checked(self.id(), (self.plan)(parameters))?;
        let batch = Batch::voices(parameters, |samples| (self.frames)(&plan, samples), seed);
        match device {
            Device::Cpu(cpu) => Ok(Box::new(CpuFiles::new(
                self.id(),
                cpu,
                batch,
                || (self.engine)(parameters),
                |_, samples| (self.values)(&plan, samples),
                self.analyse,
            )?)),
            Device::Vulkan(_) => Err(WorkloadError::not_on_vulkan(self.id())),
            Device::Cuda(gpu) => (self.on_cuda)(gpu, plan, &batch),
        }
    }
}

/// What a workload computes of these parameters on the CPU, finite and the same twice, and its cost.
#[cfg(test)]
pub(crate) fn computed_twice(workload: &dyn Workload, set: &[(&str, &str)]) -> (Vec<f32>, Cost) {
    use warpsmith_device::CpuDevice;
    use warpsmith_workload::Output;

    let set: Vec<_> = set
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let device = Device::Cpu(CpuDevice::with_threads(2).unwrap());
    let parameters = Parameters::resolve(workload.parameters(), &set).unwrap();
    let mut prepared = workload.prepare(&device, &parameters, 5).unwrap();
    let mut run = || {
        prepared.poison().unwrap();
        prepared.run_once().unwrap();
        match prepared.output().unwrap() {
            Output::F32(values) => values,
            other => panic!("{other:?}"),
        }
    };
    let (first, second) = (run(), run());
    let id = workload.id();
    assert!(!first.is_empty(), "{id} of {set:?}");
    assert!(first.iter().all(|x| x.is_finite()), "{id} of {set:?}");
    assert_eq!(first, second, "{id} of {set:?}");
    (first, workload.cost(&parameters))
}
