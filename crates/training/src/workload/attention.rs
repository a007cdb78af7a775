//! `training/attention`: scaled dot-product attention without a matrix of scores in memory.

use rayon::prelude::*;
use warpsmith_core::{Bytes, Flops, KernelImage, Tolerance, kernel};
use warpsmith_device::LaunchShape;
use warpsmith_workload::{ArguedTolerance, Cost, ParameterKind, ParameterSpec, Parameters};

use super::operation::{Launch, Operation};
use crate::{Attention, attend};

/// Threads of a block and queries that it takes, as the kernel insists.
const THREADS: u32 = 128;
const TILE: usize = 64;

// SAFETY: `attention` in `cuda/attention.cu` takes these in this order; it checks that its head ends
// inside all four buffers and that its shared memory is as large as its tiles; tokens beyond the
// last are never loaded or stored.
static KERNEL: KernelImage = unsafe {
    kernel!("training/attention", attention(in f32, in f32, in f32, out f32, u32, u32, u32, f32))
};

const PARAMETERS: &[ParameterSpec] = &[
    ParameterSpec {
        name: "heads",
        meaning: "heads of all sequences",
        kind: ParameterKind::Integer {
            default: 32,
            min: 1,
            max: 65_535,
        },
    },
    ParameterSpec {
        name: "tokens",
        meaning: "tokens of a sequence",
        kind: ParameterKind::Integer {
            default: 1500,
            min: 1,
            max: 1 << 20,
        },
    },
    ParameterSpec {
        name: "width",
        meaning: "numbers of a query",
        kind: ParameterKind::Choice(&["64", "128"]),
    },
    ParameterSpec {
        name: "mask",
        meaning: "whether a query is kept from later keys",
        kind: ParameterKind::Choice(&["none", "causal"]),
    },
];

fn shape(parameters: &Parameters) -> Attention {
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

pub(super) static ATTENTION: Operation = Operation {
    id: "training/attention",
    summary: "scaled dot-product attention in single precision",
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
            bytes: Bytes(16 * elements),
            flops: Flops(4 * elements * seen),
            units: elements,
            unit: "element",
        }
    },
    tolerance: |_| ArguedTolerance {
        tolerance: Tolerance {
            abs: 2e-5,
            rel: 1e-5,
            ulp: 0,
        },
        because: "a score is a sum of 64 or 128 products in f32, off by 1e-6; its exponential by as \
                  much of itself, and the result is a mean with such weights of numbers up to 5",
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
    launch: |parameters, _| {
        let shape = shape(parameters);
        let pitch = TILE + 4;
        let floats = 2 * shape.width * pitch + TILE * shape.width;
        Launch {
            kernel: &KERNEL,
            shape: LaunchShape {
                grid: [shape.tokens.div_ceil(TILE) as u32, shape.heads as u32, 1],
                block: [THREADS, 1, 1],
                shared_bytes: 4 * floats as u32,
            },
            scalars: vec![
                (shape.tokens as u32).into(),
                (shape.width as u32).into(),
                u32::from(shape.causal).into(),
                shape.scale().into(),
            ],
        }
    },
};
