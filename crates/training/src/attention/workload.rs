//! `training/attention`: scaled dot-product attention without a matrix of scores in memory.

use rayon::prelude::*;
use warpsmith_core::{Bytes, Flops};
use warpsmith_device::Device;
use warpsmith_workload::random::Random;
use warpsmith_workload::{
    About, ArguedTolerance, Cost, Definition, ParameterSpec, Parameters, Ready, Sizes, Workload,
    WorkloadError,
};

use super::bf16;
use super::cpu::{Attention, attend};
use super::cuda::launch;
use super::definition::definition;
use crate::matmul::Bf16;
use crate::operation::{Operation, normal_numbers};

pub(super) const ID: &str = "training/attention";

const PARAMETERS: &[ParameterSpec] = &[
    ParameterSpec::integer("heads", "heads of all sequences", 32, 1, 65_535),
    ParameterSpec::integer("tokens", "tokens of a sequence", 1500, 1, 1 << 20),
    ParameterSpec::choice("width", "numbers of a query", &["64", "128"]),
    ParameterSpec::choice(
        "mask",
        "whether a query is kept from later keys",
        &["none", "causal"],
    ),
    ParameterSpec::choice(
        "type",
        "what the tokens hold, and whether a kernel for older GPUs attends to them",
        &["f32", "f32-sm70", "bf16", "bf16-sm80", "bf16-sm70"],
    ),
];

pub(super) fn shape(parameters: &Parameters) -> Attention {
    Attention {
        heads: parameters.size("heads"),
        tokens: parameters.size("tokens"),
        width: if parameters.choice("width") == "128" {
            128
        } else {
            64
        },
        causal: parameters.choice("mask") == "causal",
    }
}

fn elements(parameters: &Parameters) -> usize {
    let shape = shape(parameters);
    shape.heads * shape.tokens * shape.width
}

fn is_bf16(parameters: &Parameters) -> bool {
    parameters.choice("type").starts_with("bf16")
}

/// The form over f32.
static F32: Operation = Operation {
    id: ID,
    summary: "scaled dot-product attention, with scores and sums in single precision",
    parameters: PARAMETERS,
    cost: |parameters| {
        let elements = elements(parameters) as u64;
        let tokens = parameters.integer("tokens");
        let seen = if shape(parameters).causal {
            tokens.div_ceil(2)
        } else {
            tokens
        };
        Cost {
            bytes: Bytes(if is_bf16(parameters) { 8 } else { 16 } * elements),
            flops: Flops(4 * elements * seen),
            units: elements,
            unit: "element",
        }
    },
    tolerance: |parameters| {
        if is_bf16(parameters) {
            return ArguedTolerance::within(
                1e-2,
                1e-2,
                "scores and sums are f32, but the GPU rounds shares to bf16, by 2⁻⁹ of the mean of numbers up \
                 to 5; results are then rounded to bf16 on both sides, to neighbours at most",
            );
        }
        ArguedTolerance::within(
            2e-5,
            1e-5,
            "a score is a sum of 64 or 128 products in f32, off by 1e-6; its exponential by as \
                  much of itself, and the result is a mean with such weights of numbers up to 5",
        )
    },
    refuses: |_| None,
    inputs: |parameters| vec![elements(parameters); 3],
    output: elements,
    cpu: |parameters, inputs, out| {
        let one = Attention {
            heads: 1,
            ..shape(parameters)
        };
        let head = one.tokens * one.width;
        out.par_chunks_mut(head)
            .zip(inputs[0].par_chunks(head))
            .zip(inputs[1].par_chunks(head).zip(inputs[2].par_chunks(head)))
            .try_for_each(|((out, query), (key, value))| attend(one, query, key, value, out))
    },
    definition,
    launch,
};

/// Attention over f32, as an operation, or over bf16.
pub(crate) struct AttentionWorkload;

impl Workload for AttentionWorkload {
    fn about(&self) -> About {
        (&F32).about()
    }

    fn sizes(&self) -> Option<Sizes> {
        (&F32).sizes()
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        (&F32).cost(parameters)
    }

    fn tolerance(&self, parameters: &Parameters) -> ArguedTolerance {
        (&F32).tolerance(parameters)
    }

    fn definition(&self, parameters: &Parameters) -> Option<Definition> {
        Some(definition(parameters))
    }

    fn prepare(&self, device: &Device, parameters: &Parameters, seed: u64) -> Ready {
        if !is_bf16(parameters) {
            return (&F32).prepare(device, parameters, seed);
        }
        let mut random = Random::seeded(seed);
        let inputs: [Vec<Bf16>; 3] = std::array::from_fn(|_| {
            let numbers = normal_numbers(&mut random, elements(parameters));
            numbers.into_iter().map(Bf16::from).collect()
        });
        Ok(match device {
            Device::Cpu(cpu) => Box::new(bf16::OnCpu::new(cpu, parameters, inputs)),
            Device::Vulkan(_) => return Err(WorkloadError::not_on_vulkan(ID)),
            Device::Cuda(gpu) => Box::new(bf16::OnCuda::new(gpu, parameters, inputs)?),
        })
    }
}
