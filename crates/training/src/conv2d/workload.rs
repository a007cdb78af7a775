//! `training/conv2d`: convolution of pictures over channels, as networks over spectrograms do it.

use warpsmith_core::{Bytes, Flops};
use warpsmith_workload::{Cost, ParameterSpec, Parameters};

use super::cpu::Conv2d;
use super::cuda::launch;
use super::definition::definition;
use crate::matmul::sum_of_products;
use crate::operation::Operation;

const PARAMETERS: &[ParameterSpec] = &[
    ParameterSpec::integer("pictures", "pictures in the batch", 8, 1, 65_535),
    ParameterSpec::integer("in", "channels of a picture", 64, 1, 65_536),
    ParameterSpec::integer("out", "channels of the result", 128, 1, 65_536),
    ParameterSpec::integer("height", "rows of a picture", 56, 1, 1 << 20),
    ParameterSpec::integer("width", "columns of a picture", 56, 1, 1 << 20),
    ParameterSpec::integer(
        "taps_y",
        "rows of weights of a pair of channels",
        3,
        1,
        4096,
    ),
    ParameterSpec::integer(
        "taps_x",
        "columns of weights of a pair of channels",
        3,
        1,
        4096,
    ),
    ParameterSpec::integer("stride_y", "rows between results", 1, 1, 4096),
    ParameterSpec::integer("stride_x", "columns between results", 1, 1, 4096),
    ParameterSpec::integer("padding_y", "rows of zeros above and below", 1, 0, 4096),
    ParameterSpec::integer("padding_x", "columns of zeros at either side", 1, 0, 4096),
    ParameterSpec::integer("dilation_y", "rows between taps", 1, 1, 4096),
    ParameterSpec::integer("dilation_x", "columns between taps", 1, 1, 4096),
    ParameterSpec::integer(
        "groups",
        "groups of channels that do not meet",
        1,
        1,
        65_535,
    ),
    ParameterSpec::choice(
        "type",
        "what the pictures hold, and whether a kernel for older GPUs convolves them",
        &["f32", "f32-sm70"],
    ),
];

pub(super) fn shape(parameters: &Parameters) -> Conv2d {
    let pair = |y, x| [parameters.size(y), parameters.size(x)];
    Conv2d {
        in_channels: parameters.size("in"),
        out_channels: parameters.size("out"),
        size: pair("height", "width"),
        taps: pair("taps_y", "taps_x"),
        stride: pair("stride_y", "stride_x"),
        padding: pair("padding_y", "padding_x"),
        dilation: pair("dilation_y", "dilation_x"),
        groups: parameters.size("groups"),
    }
}

fn inputs(parameters: &Parameters) -> Vec<usize> {
    let shape = shape(parameters);
    vec![
        parameters.size("pictures") * shape.in_channels * shape.size[0] * shape.size[1],
        shape.out_channels * shape.depth(),
        shape.out_channels,
    ]
}

/// Positions of the result, of all pictures.
pub(super) fn positions(parameters: &Parameters) -> usize {
    let [rows, columns] = shape(parameters).positions();
    parameters.size("pictures") * rows * columns
}

fn output(parameters: &Parameters) -> usize {
    parameters.size("out") * positions(parameters)
}

pub(crate) static CONV2D: Operation = Operation {
    id: "training/conv2d",
    summary: "convolution of pictures with stride, padding, dilation and groups",
    parameters: PARAMETERS,
    cost: |parameters| {
        let elements = output(parameters) as u64;
        let read: usize = inputs(parameters).iter().sum();
        Cost {
            bytes: Bytes(4 * (read as u64 + elements)),
            flops: Flops(2 * elements * shape(parameters).depth() as u64),
            units: elements,
            unit: "element",
        }
    },
    tolerance: |parameters| sum_of_products(shape(parameters).depth() + 1),
    refuses: |parameters| {
        let shape = shape(parameters);
        let picture = shape.in_channels * shape.size[0] * shape.size[1];
        if let Err(error) = shape.check() {
            return Some(error.to_string());
        }
        // As the kernel counts: positions in 30 bits, places of a picture and its surroundings in 31.
        let surroundings = 2 * shape.padding[0] * shape.size[1] + 2 * shape.padding[1];
        let large = positions(parameters) >= 1 << 30 || picture + surroundings >= 1 << 31;
        large.then(|| "more than 2³⁰ positions, or a picture of more than 2³¹ numbers".into())
    },
    inputs,
    output,
    cpu: |parameters, inputs, out| shape(parameters).apply(&inputs[0], &inputs[1], &inputs[2], out),
    definition,
    launch,
};
