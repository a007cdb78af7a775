//! `machine/saxpy`: `a·x + y`, the first kernel with a reference, a tolerance and a cost.

use rayon::prelude::*;
use std::sync::Arc;
use warpsmith_core::{Bytes, Flops, KernelImage, kernel};
use warpsmith_device::{
    CpuDevice, CudaDevice, Device, DeviceBuffer, Kernel, LaunchShape, Stream, ensure_host_room,
};
use warpsmith_lanes::{InstructionSet, for_each_set};
use warpsmith_workload::random::Random;
use warpsmith_workload::{
    About, ArguedTolerance, Cost, ParameterSpec, Parameters, Prepared, Workload, WorkloadError,
    result_in_memory, result_on_stream,
};

pub(crate) struct Saxpy;

// SAFETY: `saxpy.cu` takes x, y, out and a in this order; its loads and its store are at `i`,
// which is below the least of the three lengths.
static KERNEL: KernelImage =
    unsafe { kernel!("machine/saxpy", saxpy(in f32, in f32, out f32, f32)) };

const PARAMETERS: &[ParameterSpec] = &[ParameterSpec::integer(
    "n",
    "elements of each vector",
    1 << 24,
    1,
    1 << 38,
)];

const A: f32 = 1.618_034;

impl Workload for Saxpy {
    fn about(&self) -> About {
        About::new(
            "machine/saxpy",
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

    fn prepare(
        &self,
        device: &Device,
        parameters: &Parameters,
        seed: u64,
    ) -> Result<Box<dyn Prepared>, WorkloadError> {
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

    result_in_memory!(out: F32, f32::NAN);
}

for_each_set! {
    /// The specification, compiled to the instruction where there is one instead of a call of the C
    /// library's `fmaf`.
    fn saxpy = saxpy_in(a: f32, x: &[f32], y: &[f32], out: &mut [f32])
}

/// `mul_add` rounds once.
#[inline(always)]
fn saxpy_in(a: f32, x: &[f32], y: &[f32], out: &mut [f32]) {
    for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
        *out = a.mul_add(*x, *y);
    }
}

struct CudaSaxpy {
    kernel: Arc<Kernel>,
    shape: LaunchShape,
    x: DeviceBuffer<f32>,
    y: DeviceBuffer<f32>,
    out: DeviceBuffer<f32>,
    stream: Stream,
}

impl CudaSaxpy {
    fn new(gpu: &CudaDevice, x: &[f32], y: &[f32]) -> Result<Self, WorkloadError> {
        Ok(Self {
            kernel: gpu.kernel(&KERNEL)?,
            shape: LaunchShape::linear(x.len(), 256),
            x: gpu.upload(x)?,
            y: gpu.upload(y)?,
            out: gpu.alloc(x.len())?,
            stream: gpu.stream().clone(),
        })
    }
}

impl Prepared for CudaSaxpy {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let arguments = [self.x.read(), self.y.read(), self.out.write(), A.into()];
        Ok(self.stream.launch(&self.kernel, self.shape, &arguments)?)
    }

    result_on_stream!(out: F32);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_rounding_not_two() {
        // a·x needs 25 bits; rounding the product first would lose the last one.
        let (a, x, y) = (1.0 + f32::EPSILON, 1.0 - f32::EPSILON, -1.0);
        for set in InstructionSet::present() {
            let mut out = [0.0];
            saxpy(set, a, &[x], &[y], &mut out);
            assert_eq!(out[0], -f32::EPSILON * f32::EPSILON, "{set}");
            assert_ne!(out[0], a * x + y, "{set}");
        }
    }

    #[test]
    fn the_fast_form_equals_the_specification_at_every_tail_length() {
        let mut random = Random::seeded(5);
        for n in 0..70 {
            let mut vector = || (0..n).map(|_| random.unit() as f32).collect::<Vec<_>>();
            let (x, y) = (vector(), vector());
            let mut plain = vec![f32::NAN; n];
            saxpy_in(A, &x, &y, &mut plain);
            for set in InstructionSet::present() {
                let mut fast = vec![f32::NAN; n];
                saxpy(set, A, &x, &y, &mut fast);
                assert_eq!(fast, plain, "{set}");
            }
        }
    }
}
