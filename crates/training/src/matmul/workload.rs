//! `training/matmul`: the product of two matrices of f32 or bf16.

use warpsmith_core::{Bytes, Flops, Tolerance};
use warpsmith_device::{CpuDevice, Device};
use warpsmith_workload::random::Random;
use warpsmith_workload::{
    About, ArguedTolerance, Cost, Definition, Output, ParameterSpec, Parameters, Prepared, Ready,
    Settings, Workload, WorkloadError, result_in_memory,
};

use super::cuda::{bf16_way, f32_way, on_cuda};
use super::definition::definition;
use super::{Bf16, Matmul, Number};
use crate::operation::normal_numbers;

pub(crate) struct MatrixProduct;

const ID: &str = "training/matmul";

const fn size(name: &'static str, meaning: &'static str) -> ParameterSpec {
    ParameterSpec::integer(name, meaning, 1024, 1, 1 << 20)
}

const PARAMETERS: &[ParameterSpec] = &[
    size("m", "rows of the left matrix"),
    size("n", "columns of the right matrix"),
    size("k", "columns of the left matrix and rows of the right"),
    ParameterSpec::choice(
        "type",
        "what the matrices hold, and whether a kernel for older GPUs multiplies them; the result is f32",
        &["f32", "f32-sm70", "bf16", "bf16-sm80", "bf16-sm70"],
    ),
    ParameterSpec::integer(
        "infinite",
        "rows of the left matrix that hold an infinite number",
        0,
        0,
        1 << 20,
    ),
];

/// Shapes for which a Hopper GPU has other kernels than for the default: many tiles, and rows that start at no
/// multiple of 16 bytes, which the unit that copies tiles cannot read.
const OTHER_WAYS: &[Settings] = &[
    &[("type", "bf16"), ("m", "2048"), ("n", "2048"), ("k", "16")],
    &[("type", "bf16"), ("m", "500"), ("n", "333"), ("k", "257")],
];

/// One infinite number in each of the first rows, of either sign: all of such a row's results are infinite.
fn make_infinite(a: &mut [f32], depth: usize, rows: usize) {
    for (row, numbers) in a.chunks_mut(depth).take(rows).enumerate() {
        numbers[row % depth] = [f32::INFINITY, f32::NEG_INFINITY][row % 2];
    }
}

fn shape(parameters: &Parameters) -> Matmul {
    Matmul {
        rows: parameters.size("m"),
        columns: parameters.size("n"),
        depth: parameters.size("k"),
    }
}

fn is_bf16(parameters: &Parameters) -> bool {
    parameters.choice("type").starts_with("bf16")
}

const fn absolute(abs: f64) -> Tolerance {
    Tolerance {
        abs,
        rel: 0.0,
        ulp: 0,
    }
}

/// Of sums of so many products of normal numbers in f32.
pub(crate) fn sum_of_products(count: usize) -> ArguedTolerance {
    // A running sum of k products is √k large, and more where k is large: roundings by 2⁻²⁴ of it that fall
    // either way add up to 2.4e-8·k, ten times which few elements of millions reach. Tensor cores truncate,
    // always towards zero, but only within sums of 32 products, which are then added with rounding; and of a
    // product of up to 20 they lose 2⁻²¹ at most.
    ArguedTolerance {
        tolerance: absolute(1e-5 + 5e-7 * count as f64),
        because: "the CPU rounds the running sum, √k large, after each of k products: below 2.5e-7·k; a kernel \
                  adds in the same order, or by tensor cores, which lose 2⁻²¹ of a product and round sums of 32: \
                  below 1e-5 and 2.5e-7·k more",
    }
}

impl Workload for MatrixProduct {
    fn about(&self) -> About {
        About::new(
            ID,
            "the product of two matrices, summed in single precision",
            PARAMETERS,
        )
        .sizes("m", &["16", "64", "256", "1K", "4K"])
        .other_ways(OTHER_WAYS)
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let [m, n, k] = ["m", "n", "k"].map(|name| parameters.integer(name));
        let bytes = if is_bf16(parameters) { 2 } else { 4 };
        Cost {
            bytes: Bytes(bytes * (m + n) * k + 4 * m * n),
            flops: Flops(2 * m * n * k),
            units: m * n,
            unit: "element",
        }
    }

    fn tolerance(&self, parameters: &Parameters) -> ArguedTolerance {
        let k = parameters.size("k");
        if is_bf16(parameters) {
            ArguedTolerance {
                tolerance: absolute(2e-6 + 1e-6 * k as f64),
                because: "products of bf16 are exact in f32; a tensor core truncates their running sum, √k large, \
                          once in 16 products: below 1e-6·k, where the CPU rounds",
            }
        } else {
            sum_of_products(k)
        }
    }

    fn definition(&self, parameters: &Parameters) -> Option<Definition> {
        Some(definition(parameters))
    }

    fn prepare(&self, device: &Device, parameters: &Parameters, seed: u64) -> Ready {
        let shape = shape(parameters);
        let mut random = Random::seeded(seed);
        let mut a = normal_numbers(&mut random, shape.rows * shape.depth);
        make_infinite(&mut a, shape.depth, parameters.size("infinite"));
        let b = normal_numbers(&mut random, shape.depth * shape.columns);
        let halves = |numbers: &[f32]| numbers.iter().map(|x| Bf16::from(*x)).collect::<Vec<_>>();
        let bits = |numbers: &[f32]| numbers.iter().map(|x| Bf16::from(*x).0).collect::<Vec<_>>();
        let bf16 = is_bf16(parameters);
        Ok(match device {
            Device::Cpu(cpu) if bf16 => on_cpu(cpu, shape, halves(&a), halves(&b)),
            Device::Cpu(cpu) => on_cpu(cpu, shape, a, b),
            Device::Vulkan(_) => return Err(WorkloadError::not_on_vulkan(self.id())),
            Device::Cuda(gpu) if bf16 => {
                let newest = match parameters.choice("type") {
                    "bf16-sm80" => 80,
                    "bf16-sm70" => 70,
                    _ => u32::MAX,
                };
                let facts = gpu.facts();
                let way = bf16_way(facts.sm().min(newest), facts.multiprocessors, shape);
                on_cuda(gpu, way, shape, &bits(&a), &bits(&b))?
            }
            Device::Cuda(gpu) => {
                let facts = gpu.facts();
                let newest = match parameters.choice("type") {
                    "f32-sm70" => 70,
                    _ => u32::MAX,
                };
                let way = f32_way(facts.sm().min(newest), facts.multiprocessors, shape);
                on_cuda(gpu, way, shape, &a, &b)?
            }
        })
    }
}

fn on_cpu<T: Number + 'static>(
    cpu: &CpuDevice,
    shape: Matmul,
    a: Vec<T>,
    b: Vec<T>,
) -> Box<dyn Prepared> {
    Box::new(OnCpu {
        cpu: cpu.clone(),
        shape,
        out: vec![0.0; shape.rows * shape.columns],
        a,
        b,
    })
}

struct OnCpu<T> {
    cpu: CpuDevice,
    shape: Matmul,
    a: Vec<T>,
    b: Vec<T>,
    out: Vec<f32>,
}

impl<T: Number> Prepared for OnCpu<T> {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let (shape, a, b, out) = (self.shape, &self.a, &self.b, &mut self.out);
        self.cpu
            .run(|| shape.apply(a, b, out))
            .map_err(|error| WorkloadError::failed(ID, error))
    }

    fn inputs(&self) -> Vec<Output> {
        let wide = |numbers: &[T]| Output::F32(numbers.iter().map(|&x| x.into()).collect());
        vec![wide(&self.a), wide(&self.b)]
    }

    result_in_memory!(out: F32, f32::NAN);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    /// As the kernel for tensor cores splits a number, and as they read the parts: in 11 bits.
    fn halves(number: f32) -> [f64; 2] {
        let high = f32::from_bits((number.to_bits() + 0x1000) & 0xffff_e000);
        let low = f32::from_bits((number - high).to_bits() & 0xffff_e000);
        [high.into(), low.into()]
    }

    proptest! {
        #[test]
        fn three_products_of_halves_lose_little(x in -1e15f32..1e15, y in -1e15f32..1e15) {
            let ([x_high, x_low], [y_high, y_low]) = (halves(x), halves(y));
            let product = f64::from(x) * f64::from(y);
            let error = x_low * y_high + x_high * y_low + x_high * y_high - product;
            prop_assert!(error.abs() <= product.abs() * 0.5f64.powi(21), "{error} of {product}");
        }
    }
}
