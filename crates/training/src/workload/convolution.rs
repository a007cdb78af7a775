//! `training/conv1d`: convolution over channels, as the front of a speech encoder does it.

use rayon::prelude::*;
use warpsmith_core::{Bytes, Flops, KernelImage, Tolerance, kernel};
use warpsmith_device::LaunchShape;
use warpsmith_workload::{ArguedTolerance, Cost, ParameterKind, ParameterSpec, Parameters};

use super::operation::{Launch, Operation};
use crate::Conv1d;

/// Threads of a block, and channels and positions that it makes.
const THREADS: u32 = 128;
const CHANNELS: usize = 128;
const POSITIONS: usize = 64;

// SAFETY: `conv1d` in `cuda/conv1d.cu` takes these in this order; it checks the signal, the weights,
// the biases and the result against their lengths, and loads and stores below channels and positions.
static KERNEL: KernelImage = unsafe {
    kernel!("training/conv1d", conv1d(
        in f32, in f32, in f32, out f32, u32, u32, u32, u32, u32, u32, u32, u32
    ))
};

const fn number(
    name: &'static str,
    meaning: &'static str,
    default: u64,
    min: u64,
    max: u64,
) -> ParameterSpec {
    ParameterSpec {
        name,
        meaning,
        kind: ParameterKind::Integer { default, min, max },
    }
}

const PARAMETERS: &[ParameterSpec] = &[
    number("signals", "signals in the batch", 8, 1, 65_535),
    number("in", "channels of a signal", 80, 1, 65_536),
    number("out", "channels of the result", 512, 1, 1 << 20),
    number("length", "positions of a signal", 3000, 1, 1 << 28),
    number("taps", "weights of a pair of channels", 3, 1, 4096),
    number("stride", "positions between results", 1, 1, 4096),
    number("padding", "zeros at either end", 1, 0, 4096),
    number("dilation", "positions between taps", 1, 1, 4096),
];

fn shape(parameters: &Parameters) -> Conv1d {
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
fn positions(parameters: &Parameters) -> usize {
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

pub(super) static CONV1D: Operation = Operation {
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
    tolerance: |_| ArguedTolerance {
        tolerance: Tolerance {
            abs: 2e-4,
            rel: 1e-5,
            ulp: 0,
        },
        because: "a running f32 sum of some 240 products of normal numbers reaches 80 and rounds by \
                  4e-6 at each step; the CPU sums in f64",
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
    launch: |parameters, _| {
        let shape = shape(parameters);
        let positions = positions(parameters);
        let scalar = |value: usize| u32::try_from(value).unwrap_or(u32::MAX).into();
        Launch {
            kernel: &KERNEL,
            shape: LaunchShape {
                grid: [
                    positions.div_ceil(POSITIONS).max(1) as u32,
                    shape.out_channels.div_ceil(CHANNELS) as u32,
                    parameters.size("signals") as u32,
                ],
                block: [THREADS, 1, 1],
                shared_bytes: 0,
            },
            scalars: vec![
                scalar(shape.in_channels),
                scalar(shape.out_channels),
                scalar(parameters.size("length")),
                scalar(positions),
                scalar(shape.taps),
                scalar(shape.stride),
                scalar(shape.padding),
                scalar(shape.dilation),
            ],
        }
    },
};
