//! `training/conv1d`: convolution over channels, as the front of a speech encoder does it.

use rayon::prelude::*;
use warpsmith_core::{Bytes, Flops};
use warpsmith_workload::{ArguedTolerance, Cost, ParameterSpec, Parameters};

use super::cpu::Conv1d;
use super::cuda::launch;
use super::definition::definition;
use crate::operation::Operation;

const PARAMETERS: &[ParameterSpec] = &[
    ParameterSpec::integer("signals", "signals in the batch", 8, 1, 65_535),
    ParameterSpec::integer("in", "channels of a signal", 80, 1, 65_536),
    ParameterSpec::integer("out", "channels of the result", 512, 1, 1 << 20),
    ParameterSpec::integer("length", "positions of a signal", 3000, 1, 1 << 28),
    ParameterSpec::integer("taps", "weights of a pair of channels", 3, 1, 4096),
    ParameterSpec::integer("stride", "positions between results", 1, 1, 4096),
    ParameterSpec::integer("padding", "zeros at either end", 1, 0, 4096),
    ParameterSpec::integer("dilation", "positions between taps", 1, 1, 4096),
];

pub(super) fn shape(parameters: &Parameters) -> Conv1d {
    Conv1d {
        in_channels: parameters.size("in"),
        out_channels: parameters.size("out"),
        taps: parameters.size("taps"),
        stride: parameters.size("stride"),
        padding: parameters.size("padding"),
        dilation: parameters.size("dilation"),
    }
}

/// Positions of the result.
pub(super) fn positions(parameters: &Parameters) -> usize {
    shape(parameters).positions(parameters.size("length"))
}

fn inputs(parameters: &Parameters) -> Vec<usize> {
    let shape = shape(parameters);
    vec![
        parameters.size("signals") * shape.in_channels * parameters.size("length"),
        shape.out_channels * shape.in_channels * shape.taps,
        shape.out_channels,
    ]
}

fn output(parameters: &Parameters) -> usize {
    parameters.size("signals") * parameters.size("out") * positions(parameters)
}

pub(crate) static CONV1D: Operation = Operation {
    id: "training/conv1d",
    summary: "convolution over channels with stride, padding and dilation",
    parameters: PARAMETERS,
    cost: |parameters| {
        let depth = parameters.integer("in") * parameters.integer("taps");
        let elements = output(parameters) as u64;
        let read: usize = inputs(parameters).iter().sum();
        Cost {
            bytes: Bytes(4 * (read as u64 + elements)),
            flops: Flops(2 * elements * depth),
            units: elements,
            unit: "element",
        }
    },
    tolerance: |_| {
        ArguedTolerance::within(
            2e-4,
            1e-5,
            "a running f32 sum of some 240 products of normal numbers reaches 80 and rounds by \
                  4e-6 at each step; the CPU sums in f64",
        )
    },
    refuses: |_| None,
    inputs,
    output,
    cpu: |parameters, inputs, out| {
        let shape = shape(parameters);
        let positions = positions(parameters);
        if positions == 0 {
            return Ok(());
        }
        // A task is one output channel of one signal.
        let one = Conv1d {
            out_channels: 1,
            ..shape
        };
        let depth = shape.in_channels * shape.taps;
        let length = shape.in_channels * parameters.size("length");
        out.par_chunks_mut(positions)
            .enumerate()
            .try_for_each(|(index, out)| {
                let (signal, channel) = (index / shape.out_channels, index % shape.out_channels);
                one.apply(
                    &inputs[0][signal * length..][..length],
                    &inputs[1][channel * depth..][..depth],
                    &inputs[2][channel..=channel],
                    out,
                )
            })
    },
    definition,
    launch,
};
