//! `training/attention`: scaled dot-product attention without a matrix of scores in memory.

use rayon::prelude::*;
use warpsmith_core::{Bytes, Flops};
use warpsmith_workload::{ArguedTolerance, Cost, ParameterSpec, Parameters};

use super::cpu::{Attention, attend};
use super::cuda::launch;
use crate::operation::Operation;

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
        &["f32", "f32-sm70"],
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

pub(crate) static ATTENTION: Operation = Operation {
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
    tolerance: |_| {
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

    launch,
};
