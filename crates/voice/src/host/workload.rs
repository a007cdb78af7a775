//! `voice/host`: the operations that have no CUDA version, on a ragged batch, files side by side.

use rayon::prelude::*;
use warpsmith_core::{Bytes, Flops};
use warpsmith_device::{CpuDevice, Device};
use warpsmith_workload::{
    About, ArguedTolerance, Cost, Output, ParameterKind, ParameterSpec, Parameters, Prepared,
    Workload, WorkloadError,
};

use super::operation::{NAMES, Plan, plan};
use crate::batch::{Batch, Made, PARAMETERS, failed, lengths, sample_rate};

const ID: &str = "voice/host";

const OPERATION: ParameterSpec = ParameterSpec {
    name: "operation",
    meaning: "what is done with each signal",
    kind: ParameterKind::Choice(NAMES),
};

static HOST: [ParameterSpec; 4] = [PARAMETERS[0], PARAMETERS[1], PARAMETERS[2], OPERATION];

pub(crate) struct Host;

impl Workload for Host {
    fn about(&self) -> About {
        About::new(
            ID,
            "an operation without a CUDA version on a ragged batch of signals",
            &HOST,
        )
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let samples: usize = lengths(parameters).iter().sum();
        Cost {
            bytes: Bytes(4 * samples as u64),
            flops: Flops(0),
            units: samples as u64,
            unit: "sample",
        }
    }

    fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
        ArguedTolerance::exact("the same program on the same machine")
    }

    fn prepare(&self, device: &Device, parameters: &Parameters, seed: u64) -> Made {
        let Device::Cpu(cpu) = device else {
            return Err(WorkloadError::Unsupported {
                workload: ID,
                reason: "these operations run on the CPU alone".to_owned(),
            });
        };
        let batch = Batch::voices(parameters, |_| 0, seed);
        let plans = batch
            .signals()
            .map(|_| plan(parameters.choice("operation"), sample_rate(parameters)))
            .collect::<crate::Result<Vec<Plan>>>()
            .map_err(|error| failed(ID, &error))?;
        Ok(Box::new(Files {
            cpu: cpu.clone(),
            results: vec![Vec::new(); plans.len()],
            plans,
            batch,
        }))
    }
}

struct Files {
    cpu: CpuDevice,
    batch: Batch,
    plans: Vec<Plan>,
    results: Vec<Vec<f32>>,
}

impl Prepared for Files {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let results = self.results.iter_mut().zip(&mut self.plans);
        let tasks: Vec<_> = self.batch.signals().zip(results).collect();
        self.cpu
            .run(|| {
                tasks
                    .into_par_iter()
                    .try_for_each(|(signal, (result, plan))| {
                        *result = plan(signal)?;
                        Ok(())
                    })
            })
            .map_err(|error| failed(ID, &error))
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        self.results.fill(vec![f32::NAN]);
        Ok(())
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        Ok(Output::F32(self.results.concat()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::computed_twice;

    #[test]
    fn every_operation_says_something_of_both_rates_and_the_same_twice() {
        for name in NAMES {
            for rate in ["16000", "44100"] {
                let set = [
                    ("files", "2"),
                    ("seconds", "1"),
                    ("rate", rate),
                    ("operation", name),
                ];
                computed_twice(&Host, &set);
            }
        }
    }

    #[test]
    fn an_operation_that_is_not_there_is_refused_with_those_that_are() {
        let Err(error) = plan("sing", 16_000) else {
            panic!("there is no such operation");
        };
        let said = error.to_string();
        assert!(said.contains("sing") && said.contains("denoise"), "{said}");
    }
}
