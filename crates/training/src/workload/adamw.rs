//! `training/adamw`: one step of the optimiser, in place, with its state.

use std::sync::Arc;

use rayon::prelude::*;
use warpsmith_core::{Bytes, Flops, KernelImage, Tolerance, kernel};
use warpsmith_device::{CpuDevice, CudaDevice, Device, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_workload::random::Random;
use warpsmith_workload::{
    About, ArguedTolerance, Cost, Output, ParameterKind, ParameterSpec, Parameters, Prepared,
    Workload, WorkloadError,
};

use super::operation::normal_numbers;
use crate::{AdamW, AdamWState, Step};
use warpsmith_lanes::with_widest;

pub(super) struct AdamWStep;

// SAFETY: `adamw` in `cuda/optimiser.cu` takes these in this order and keeps below the least of the
// four lengths.
static KERNEL: KernelImage = unsafe {
    kernel!("training/optimiser", adamw(
        out f32, in f32, out f32, out f32, f32, f32, f32, f32, f32, f32, f32, f32, f32
    ))
};

const THREADS: u32 = 256;
/// Weights to a task on the CPU.
const CHUNK: usize = 1 << 15;

const PARAMETERS: &[ParameterSpec] = &[ParameterSpec {
    name: "n",
    meaning: "weights",
    kind: ParameterKind::Integer {
        default: 1 << 24,
        min: 1,
        max: 1 << 35,
    },
}];

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
        ArguedTolerance {
            tolerance: Tolerance {
                abs: 1e-9,
                rel: 1e-6,
                ulp: 0,
            },
            because: "the same f32 operations on both sides but for a fused product, a root and a \
                      quotient that may round the other way: some 4 ULP",
        }
    }

    fn prepare(
        &self,
        device: &Device,
        parameters: &Parameters,
        seed: u64,
    ) -> Result<Box<dyn Prepared>, WorkloadError> {
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
}

struct CudaAdamW {
    kernel: Arc<Kernel>,
    shape: LaunchShape,
    start: (Vec<f32>, AdamWState),
    weights: DeviceBuffer<f32>,
    gradient: DeviceBuffer<f32>,
    first: DeviceBuffer<f32>,
    second: DeviceBuffer<f32>,
    steps: u32,
    stream: Stream,
}

impl CudaAdamW {
    fn new(
        gpu: &CudaDevice,
        weights: Vec<f32>,
        gradient: &[f32],
        state: AdamWState,
    ) -> Result<Self, WorkloadError> {
        Ok(Self {
            kernel: gpu.kernel(&KERNEL)?,
            shape: LaunchShape::linear(weights.len().div_ceil(4), THREADS),
            weights: gpu.upload(&weights)?,
            gradient: gpu.upload(gradient)?,
            first: gpu.upload(&state.first)?,
            second: gpu.upload(&state.second)?,
            steps: state.steps,
            start: (weights, state),
            stream: gpu.stream().clone(),
        })
    }
}

impl Prepared for CudaAdamW {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let adamw = AdamW::default();
        self.steps += 1;
        let factors = adamw.factors(self.steps);
        let arguments = [
            self.weights.write(),
            self.gradient.read(),
            self.first.write(),
            self.second.write(),
            factors.rate.into(),
            factors.first.0.into(),
            factors.first.1.into(),
            factors.second.0.into(),
            factors.second.1.into(),
            factors.epsilon.into(),
            factors.decay.into(),
            factors.correct_first.into(),
            factors.correct_second.into(),
        ];
        Ok(self.stream.launch(&self.kernel, self.shape, &arguments)?)
    }

    fn stream(&self) -> Option<&Stream> {
        Some(&self.stream)
    }

    /// Back to the start: a step moves every weight, so the start is what no step leaves.
    fn poison(&mut self) -> Result<(), WorkloadError> {
        let (weights, state) = &self.start;
        self.weights.upload(&self.stream, weights)?;
        self.first.upload(&self.stream, &state.first)?;
        self.second.upload(&self.stream, &state.second)?;
        self.steps = state.steps;
        Ok(())
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        let mut all = self.weights.download(&self.stream)?;
        all.extend(self.first.download(&self.stream)?);
        all.extend(self.second.download(&self.stream)?);
        Ok(Output::F32(all))
    }
}
