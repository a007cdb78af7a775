//! `training/clip`: the norm of a gradient, and the gradient scaled to a largest norm.

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
use crate::sum_of_squares;

pub(super) struct Clip;

// SAFETY: `square_sums` in `cuda/optimiser.cu` takes these in this order; loads are below the
// gradient's length, the one store is behind `blockIdx.x < sums_length`.
static SUMS: KernelImage = unsafe { kernel!("training/optimiser", square_sums(in f32, out f64)) };

// SAFETY: `clip` in `cuda/optimiser.cu` takes these in this order; sums are read below their length,
// the gradient and the result below the lesser of theirs, the norm is written where there is one.
static CLIP: KernelImage =
    unsafe { kernel!("training/optimiser", clip(in f32, in f64, out f32, out f32, f32)) };

/// Threads of a block, as the kernels insist.
const THREADS: u32 = 256;
/// The norm that gradients are clipped to: that of every larger workload is above it.
const LARGEST_NORM: f32 = 1.0;
/// Numbers to a task on the CPU.
const CHUNK: usize = 1 << 16;

const PARAMETERS: &[ParameterSpec] = &[ParameterSpec {
    name: "n",
    meaning: "numbers of the gradient",
    kind: ParameterKind::Integer {
        default: 1 << 25,
        min: 1,
        max: 1 << 36,
    },
}];

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
        ArguedTolerance {
            tolerance: Tolerance {
                abs: 0.0,
                rel: 1e-6,
                ulp: 0,
            },
            because: "the GPU sums 16 squares in f32 and the rest in f64: some 5e-7 of the norm's \
                      square, half of that of the norm; the scale adds two roundings",
        }
    }

    fn prepare(
        &self,
        device: &Device,
        parameters: &Parameters,
        seed: u64,
    ) -> Result<Box<dyn Prepared>, WorkloadError> {
        let gradient = normal_numbers(&mut Random::seeded(seed), parameters.size("n"));
        Ok(match device {
            Device::Cpu(cpu) => Box::new(CpuClip {
                cpu: cpu.clone(),
                out: vec![0.0; gradient.len()],
                norm: 0.0,
                gradient,
            }),
            Device::Cuda(gpu) => Box::new(CudaClip::new(gpu, &gradient)?),
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
}

struct CudaClip {
    sums_kernel: Arc<Kernel>,
    clip_kernel: Arc<Kernel>,
    shape: LaunchShape,
    gradient: DeviceBuffer<f32>,
    sums: DeviceBuffer<f64>,
    out: DeviceBuffer<f32>,
    norm: DeviceBuffer<f32>,
    stream: Stream,
}

impl CudaClip {
    fn new(gpu: &CudaDevice, gradient: &[f32]) -> Result<Self, WorkloadError> {
        let most = gpu.facts().multiprocessors as usize * 8;
        let blocks = gradient.len().div_ceil(4 * THREADS as usize).clamp(1, most);
        Ok(Self {
            sums_kernel: gpu.kernel(&SUMS)?,
            clip_kernel: gpu.kernel(&CLIP)?,
            shape: LaunchShape::linear(blocks * THREADS as usize, THREADS),
            gradient: gpu.upload(gradient)?,
            sums: gpu.alloc(blocks)?,
            out: gpu.alloc(gradient.len())?,
            norm: gpu.alloc(1)?,
            stream: gpu.stream().clone(),
        })
    }
}

impl Prepared for CudaClip {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let sums = [self.gradient.read(), self.sums.write()];
        self.stream.launch(&self.sums_kernel, self.shape, &sums)?;
        let clip = [
            self.gradient.read(),
            self.sums.read(),
            self.out.write(),
            self.norm.write(),
            LARGEST_NORM.into(),
        ];
        Ok(self.stream.launch(&self.clip_kernel, self.shape, &clip)?)
    }

    fn stream(&self) -> Option<&Stream> {
        Some(&self.stream)
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        self.norm.fill_bytes(&self.stream, 0xFF)?;
        Ok(self.out.fill_bytes(&self.stream, 0xFF)?)
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        let mut all = self.out.download(&self.stream)?;
        all.extend(self.norm.download(&self.stream)?);
        Ok(Output::F32(all))
    }
}
