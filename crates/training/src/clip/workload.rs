//! `training/clip`: the norm of a gradient, and the gradient scaled to a largest norm.

use rayon::prelude::*;
use warpsmith_core::{Bytes, Flops};
use warpsmith_device::{CpuDevice, Device};
use warpsmith_workload::random::Random;
use warpsmith_workload::{
    About, ArguedTolerance, Cost, Definition, Output, ParameterSpec, Parameters, Prepared, Ready,
    Workload, WorkloadError,
};

use super::cpu::sum_of_squares;
use super::cuda::CudaClip;
use super::definition::definition;
use crate::operation::normal_numbers;

pub(crate) struct Clip;

/// The norm that gradients are clipped to: that of every larger workload is above it.
pub(super) const LARGEST_NORM: f32 = 1.0;
/// Numbers to a task on the CPU.
const CHUNK: usize = 1 << 16;

const PARAMETERS: &[ParameterSpec] = &[ParameterSpec::integer(
    "n",
    "numbers of the gradient",
    1 << 25,
    1,
    1 << 36,
)];

impl Workload for Clip {
    fn about(&self) -> About {
        About::new(
            "training/clip",
            "the norm of a gradient, and the gradient clipped to a largest norm",
            PARAMETERS,
        )
        .sizes("n", &["1K", "16K", "256K", "4M", "32M"])
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let n = parameters.integer("n");
        Cost {
            // Read for the norm, read and written for the scale.
            bytes: Bytes(12 * n),
            flops: Flops(3 * n),
            units: n,
            unit: "element",
        }
    }

    fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
        ArguedTolerance::within(
            0.0,
            1e-6,
            "the GPU sums 16 squares in f32 and the rest in f64: some 5e-7 of the norm's \
                      square, half of that of the norm; the scale adds two roundings",
        )
    }

    fn definition(&self, _: &Parameters) -> Option<Definition> {
        Some(definition())
    }

    fn prepare(&self, device: &Device, parameters: &Parameters, seed: u64) -> Ready {
        let gradient = normal_numbers(&mut Random::seeded(seed), parameters.size("n"));
        Ok(match device {
            Device::Cpu(cpu) => Box::new(CpuClip {
                cpu: cpu.clone(),
                out: vec![0.0; gradient.len()],
                norm: 0.0,
                gradient,
            }),
            Device::Cuda(gpu) => Box::new(CudaClip::new(gpu, &gradient)?),
            Device::Vulkan(_) => return Err(WorkloadError::not_on_vulkan(self.id())),
        })
    }
}

struct CpuClip {
    cpu: CpuDevice,
    gradient: Vec<f32>,
    out: Vec<f32>,
    norm: f32,
}

impl Prepared for CpuClip {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let (gradient, out) = (&self.gradient, &mut self.out);
        self.norm = self.cpu.run(|| {
            // Sums of fixed chunks in their order: the same bits with any number of threads.
            let sums: Vec<f64> = gradient.par_chunks(CHUNK).map(sum_of_squares).collect();
            let norm = sums.iter().sum::<f64>().sqrt() as f32;
            let scale = if norm > LARGEST_NORM {
                LARGEST_NORM / norm
            } else {
                1.0
            };
            out.par_chunks_mut(CHUNK)
                .zip(gradient.par_chunks(CHUNK))
                .for_each(|(out, x)| {
                    for (slot, x) in out.iter_mut().zip(x) {
                        *slot = x * scale;
                    }
                });
            norm
        });
        Ok(())
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        self.out.fill(f32::NAN);
        self.norm = f32::NAN;
        Ok(())
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        let mut all = self.out.clone();
        all.push(self.norm);
        Ok(Output::F32(all))
    }

    fn inputs(&self) -> Vec<Output> {
        vec![Output::F32(self.gradient.clone())]
    }
}
