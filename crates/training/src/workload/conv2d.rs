//! `training/conv2d`: convolution of pictures over channels, as networks over spectrograms do it.

use warpsmith_core::{Bytes, Element, Flops, KernelImage, Parameter, kernel, ptx};
use warpsmith_device::LaunchShape;
use warpsmith_workload::{Cost, ParameterKind, ParameterSpec, Parameters};

use super::matmul::sum_of_products;
use super::operation::{Launch, Operation};
use crate::Conv2d;

const OPERANDS: &[Parameter] = &[
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
];

/// A kernel, and the channels and positions that a block makes.
struct Way {
    kernel: KernelImage,
    tile: [usize; 2],
    threads: u32,
    shared_bytes: u32,
}

/// For every GPU. Its tile is another where a group has no more than 64 channels.
static ANY: Way = Way {
    // SAFETY: `conv2d` in `cuda/conv2d.cu` takes these in this order; it checks that pictures, weights, biases
    // and result lie inside their buffers, and loads and stores below channels and positions.
    kernel: unsafe { kernel!("training/conv2d", conv2d: OPERANDS) },
    tile: [128, 128],
    threads: 256,
    shared_bytes: 0,
};

/// From Ampere on, by tensor cores, for groups of few channels first.
static SM80: [Way; 3] = [
    by_tensor_cores("conv2d_32", [32, 128], 3),
    by_tensor_cores("conv2d_64", [64, 128], 3),
    by_tensor_cores("conv2d_128", [128, 64], 2),
];

const fn by_tensor_cores(name: &'static str, tile: [usize; 2], stages: usize) -> Way {
    Way {
        // SAFETY: the kernels of `cuda/conv2d.sm80.cu` take the same and check the same, and that their stages
        // fit their shared memory.
        kernel: unsafe {
            KernelImage::trusted(
                "training/conv2d.sm80",
                name,
                OPERANDS,
                ptx!("training/conv2d.sm80"),
            )
        },
        tile,
        threads: 128,
        // Of 32 steps.
        shared_bytes: (stages * 4 * 32 * (tile[0] + tile[1] + 8)) as u32,
    }
}

/// The kernel for an architecture and a group's channels and depth, and the tile of a block.
fn way(sm: u32, channels: usize, depth: usize) -> (&'static Way, [usize; 2]) {
    // A stage of the tensor cores' tiles is 32 deep: with few stages, most of the time goes into filling the
    // first and writing the result, where the other kernel is faster.
    if sm >= 80 && depth > if channels > 64 { 64 } else { 32 } {
        let fits = SM80.iter().find(|way| channels <= way.tile[0]);
        let way = fits.unwrap_or(&SM80[2]);
        (way, way.tile)
    } else {
        (&ANY, if channels > 64 { ANY.tile } else { [64, 256] })
    }
}

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
    ParameterSpec {
        name: "type",
        meaning: "what the pictures hold, and whether a kernel for older GPUs convolves them",
        kind: ParameterKind::Choice(&["f32", "f32-sm70"]),
    },
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
    launch: |parameters, gpu| {
        let shape = shape(parameters);
        let channels = shape.out_channels / shape.groups;
        let sm = match parameters.choice("type") {
            "f32-sm70" => 70,
            _ => gpu.facts().sm(),
        };
        let (way, [high, wide]) = way(sm, channels, shape.depth());
        let blocks = channels.div_ceil(high) * positions(parameters).div_ceil(wide);
        let scalar = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        // Along rows in the lower half, along columns in the upper.
        let pair = |[y, x]: [usize; 2]| scalar(y) | scalar(x) << 16;
        Launch {
            kernel: &way.kernel,
            shape: LaunchShape {
                grid: [scalar(blocks).max(1), shape.groups as u32, 1],
                block: [way.threads, 1, 1],
                shared_bytes: way.shared_bytes,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensor_cores_convolve_from_ampere_on_but_not_over_few_taps() {
        let tile = |sm, channels, depth| way(sm, channels, depth).1;
        assert_eq!(tile(75, 256, 576), [128, 128]);
        assert_eq!(tile(75, 64, 576), [64, 256]);
        assert_eq!(tile(80, 64, 9), [64, 256]);
        assert_eq!(tile(80, 256, 576), [128, 64]);
        assert_eq!(tile(90, 64, 576), [64, 128]);
        assert_eq!(tile(90, 10, 576), [32, 128]);
        assert!(std::ptr::eq(way(75, 256, 576).0, &ANY));
    }
}
