//! `training/adamw`: one step of the optimiser, in place, with its state.

use rayon::prelude::*;
use warpsmith_core::{Bytes, Flops};
use warpsmith_device::{CpuDevice, Device};
use warpsmith_lanes::with_widest;
use warpsmith_workload::random::Random;
use warpsmith_workload::{
    About, ArguedTolerance, Cost, Definition, Output, ParameterSpec, Parameters, Prepared, Ready,
    Workload, WorkloadError,
};

use super::cpu::{AdamW, AdamWState, Step};
use super::cuda::CudaAdamW;
use super::definition::definition;
use crate::operation::normal_numbers;

pub(crate) struct AdamWStep;

/// Weights to a task on the CPU.
const CHUNK: usize = 1 << 15;

const PARAMETERS: &[ParameterSpec] = &[ParameterSpec::integer("n", "weights", 1 << 24, 1, 1 << 35)];

impl Workload for AdamWStep {
    fn about(&self) -> About {
        About::new(
            "training/adamw",
            "a step of AdamW with bias correction: weights and both moments, in place",
            PARAMETERS,
        )
        .sizes("n", &["1K", "16K", "256K", "4M", "32M"])
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let n = parameters.integer("n");
        Cost {
            // Four numbers read, three written.
            bytes: Bytes(28 * n),
            flops: Flops(14 * n),
            units: n,
            unit: "weight",
        }
    }

    fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
        ArguedTolerance::within(
            1e-9,
            1e-6,
            "the same f32 operations on both sides but for a fused product, a root and a \
                      quotient that may round the other way: some 4 ULP",
        )
    }

    fn definition(&self, _: &Parameters) -> Option<Definition> {
        Some(definition())
    }

    fn prepare(&self, device: &Device, parameters: &Parameters, seed: u64) -> Ready {
        let n = parameters.size("n");
        let mut random = Random::seeded(seed);
        let weights = normal_numbers(&mut random, n);
        let gradient = normal_numbers(&mut random, n);
        // A state in the middle of training, so that every operand matters.
        let mut state = AdamWState::new(n);
        for (first, second) in state.first.iter_mut().zip(&mut state.second) {
            *first = random.normal() as f32 * 0.1;
            *second = random.unit() as f32 * 0.01 + 1e-4;
        }
        state.steps = 10;
        Ok(match device {
            Device::Cpu(cpu) => Box::new(CpuAdamW {
                cpu: cpu.clone(),
                start: (weights.clone(), state.clone()),
                weights,
                gradient,
                state,
            }),
            Device::Cuda(gpu) => Box::new(CudaAdamW::new(gpu, weights, &gradient, state)?),
            Device::Vulkan(_) => return Err(WorkloadError::not_on_vulkan(self.id())),
        })
    }
}

struct CpuAdamW {
    cpu: CpuDevice,
    start: (Vec<f32>, AdamWState),
    weights: Vec<f32>,
    gradient: Vec<f32>,
    state: AdamWState,
}

impl Prepared for CpuAdamW {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let adamw = AdamW::default();
        self.state.steps += 1;
        let factors = adamw.factors(self.state.steps);
        let (weights, gradient) = (&mut self.weights, &self.gradient);
        let (first, second) = (&mut self.state.first, &mut self.state.second);
        self.cpu.run(|| {
            weights
                .par_chunks_mut(CHUNK)
                .zip(gradient.par_chunks(CHUNK))
                .zip(first.par_chunks_mut(CHUNK))
                .zip(second.par_chunks_mut(CHUNK))
                .for_each(|(((weights, gradient), first), second)| {
                    with_widest(Step {
                        factors,
                        weights,
                        gradient,
                        first,
                        second,
                    });
                });
        });
        Ok(())
    }

    /// Back to the start: a step moves every weight, so the start is what no step leaves.
    fn poison(&mut self) -> Result<(), WorkloadError> {
        (self.weights, self.state) = self.start.clone();
        Ok(())
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        Ok(Output::F32(
            [
                &self.weights[..],
                &self.state.first[..],
                &self.state.second[..],
            ]
            .concat(),
        ))
    }

    fn inputs(&self) -> Vec<Output> {
        let Self {
            weights,
            gradient,
            state,
            ..
        } = self;
        [weights, gradient, &state.first, &state.second]
            .map(|numbers| Output::F32(numbers.clone()))
            .into()
    }
}
