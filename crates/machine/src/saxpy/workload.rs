//! How it is listed, measured and checked.

use rayon::prelude::*;
use warpsmith_core::{Bytes, Flops, Tolerance};
use warpsmith_device::{CpuDevice, Device, ensure_host_room};
use warpsmith_lanes::InstructionSet;
use warpsmith_workload::random::Random;
use warpsmith_workload::{
    About, ArguedTolerance, Cost, Definition, Output, ParameterSpec, Parameters, Prepared, Ready,
    Workload, WorkloadError, result_in_memory,
};

use super::cpu::saxpy;
use super::cuda::CudaSaxpy;
use super::vulkan;

pub(crate) struct Saxpy;

const PARAMETERS: &[ParameterSpec] = &[ParameterSpec::integer(
    "n",
    "elements of each vector",
    1 << 24,
    1,
    1 << 38,
)];

pub(super) const ID: &str = "machine/saxpy";

pub(super) const A: f32 = 1.618_034;

impl Workload for Saxpy {
    fn about(&self) -> About {
        About::new(
            ID,
            "a·x + y on vectors: the smallest kernel that does something",
            PARAMETERS,
        )
        .sizes("n", &["1K", "4K", "16K", "64K", "256K", "1M", "4M", "16M"])
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let n = parameters.integer("n");
        Cost {
            bytes: Bytes(12 * n),
            flops: Flops(2 * n),
            units: n,
            unit: "element",
        }
    }

    fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
        ArguedTolerance::exact("one fused multiply-add, correctly rounded on both sides")
    }

    fn definition(&self, _: &Parameters) -> Option<Definition> {
        Some(Definition {
            results: |_, inputs| {
                let pairs = inputs[0].iter().zip(&inputs[1]);
                pairs.map(|(x, y)| f64::from(A) * x + y).collect()
            },
            tolerance: ArguedTolerance {
                tolerance: Tolerance {
                    ulp: 1,
                    ..Tolerance::EXACT
                },
                because: "the product is exact in f64, and the sum rounds there before it rounds to f32",
            },
        })
    }

    fn prepare(&self, device: &Device, parameters: &Parameters, seed: u64) -> Ready {
        let n = parameters.size("n");
        ensure_host_room(12 * parameters.integer("n"))?;
        let mut random = Random::seeded(seed);
        let mut vector = || {
            (0..n)
                .map(|_| random.unit() as f32 * 2.0 - 1.0)
                .collect::<Vec<_>>()
        };
        let (x, y) = (vector(), vector());
        Ok(match device {
            Device::Cpu(cpu) => Box::new(CpuSaxpy {
                cpu: cpu.clone(),
                out: vec![0.0; n],
                x,
                y,
            }),
            Device::Cuda(gpu) => Box::new(CudaSaxpy::new(gpu, &x, &y)?),
            Device::Vulkan(device) => Box::new(vulkan::saxpy(device, &x, &y)?),
        })
    }
}

struct CpuSaxpy {
    cpu: CpuDevice,
    x: Vec<f32>,
    y: Vec<f32>,
    out: Vec<f32>,
}

/// Elements per task: 256 KiB of output, a task of some 50 µs.
const CHUNK: usize = 1 << 16;

impl Prepared for CpuSaxpy {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let (x, y, out) = (&self.x, &self.y, &mut self.out);
        let set = InstructionSet::widest();
        self.cpu.run(|| {
            out.par_chunks_mut(CHUNK)
                .zip(x.par_chunks(CHUNK))
                .zip(y.par_chunks(CHUNK))
                .for_each(|((out, x), y)| saxpy(set, A, x, y, out));
        });
        Ok(())
    }

    fn inputs(&self) -> Vec<Output> {
        vec![Output::F32(self.x.clone()), Output::F32(self.y.clone())]
    }

    result_in_memory!(out: F32, f32::NAN);
}
