//! `training/conv2d`: convolution of pictures over channels, as networks over spectrograms do it.

use warpsmith_core::{Bytes, Element, Flops, KernelImage, Parameter, Tolerance, packed};
use warpsmith_device::LaunchShape;
use warpsmith_measure::{ArguedTolerance, Cost, ParameterKind, ParameterSpec, Parameters};

use super::operation::{Launch, Operation};
use crate::training::Conv2d;

/// Threads of a block.
const THREADS: u32 = 256;

/// Channels and positions that a block makes, as the kernel cuts them.
fn tile(channels: usize) -> [usize; 2] {
    if channels > 64 { [128, 128] } else { [64, 256] }
}

// SAFETY: `conv2d` in `cuda/conv2d.cu` takes these in this order; it checks that pictures, weights, biases
// and result lie inside their buffers, and loads and stores below channels and positions.
static KERNEL: KernelImage = unsafe {
    KernelImage::trusted(
        "voice/conv2d",
        "conv2d",
        &[
            Parameter::In(Element::F32),
            Parameter::In(Element::F32),
            Parameter::In(Element::F32),
            Parameter::Out(Element::F32),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::U32),
        ],
        packed!("cuda/conv2d.ptx"),
    )
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
    number("pictures", "pictures in the batch", 8, 1, 65_535),
    number("in", "channels of a picture", 64, 1, 65_536),
    number("out", "channels of the result", 128, 1, 65_536),
    number("height", "rows of a picture", 56, 1, 1 << 20),
    number("width", "columns of a picture", 56, 1, 1 << 20),
    number(
        "taps_y",
        "rows of weights of a pair of channels",
        3,
        1,
        4096,
    ),
    number(
        "taps_x",
        "columns of weights of a pair of channels",
        3,
        1,
        4096,
    ),
    number("stride_y", "rows between results", 1, 1, 4096),
    number("stride_x", "columns between results", 1, 1, 4096),
    number("padding_y", "rows of zeros above and below", 1, 0, 4096),
    number("padding_x", "columns of zeros at either side", 1, 0, 4096),
    number("dilation_y", "rows between taps", 1, 1, 4096),
    number("dilation_x", "columns between taps", 1, 1, 4096),
    number(
        "groups",
        "groups of channels that do not meet",
        1,
        1,
        65_535,
    ),
];

fn shape(parameters: &Parameters) -> Conv2d {
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
fn positions(parameters: &Parameters) -> usize {
    let [rows, columns] = shape(parameters).positions();
    parameters.size("pictures") * rows * columns
}

fn output(parameters: &Parameters) -> usize {
    parameters.size("out") * positions(parameters)
}

pub(super) static CONV2D: Operation = Operation {
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
    tolerance: ArguedTolerance {
        tolerance: Tolerance {
            abs: 2e-4,
            rel: 1e-5,
            ulp: 0,
        },
        because: "both add the same products in the same order, each in one rounding where the CPU has \
                  fused multiply-adds; where it has none, some 576 products of normal numbers round once \
                  more, 4e-6 at most",
    },
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
    kernel: &KERNEL,
    launch: |parameters, _| {
        let shape = shape(parameters);
        let channels = shape.out_channels / shape.groups;
        let [high, wide] = tile(channels);
        let blocks = channels.div_ceil(high) * positions(parameters).div_ceil(wide);
        let scalar = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        // Along rows in the lower half, along columns in the upper.
        let pair = |[y, x]: [usize; 2]| scalar(y) | scalar(x) << 16;
        Launch {
            shape: LaunchShape {
                grid: [scalar(blocks).max(1), shape.groups as u32, 1],
                block: [THREADS, 1, 1],
                shared_bytes: 0,
            },
            scalars: vec![
                scalar(parameters.size("pictures")).into(),
                scalar(shape.in_channels).into(),
                scalar(shape.out_channels).into(),
                scalar(shape.size[0]).into(),
                scalar(shape.size[1]).into(),
                pair(shape.taps).into(),
                pair(shape.stride).into(),
                pair(shape.padding).into(),
                pair(shape.dilation).into(),
                scalar(shape.groups).into(),
            ],
        }
    },
};
