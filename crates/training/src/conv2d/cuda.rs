//! The kernels of `training/conv2d`, and which GPU runs which.

use warpsmith_core::{Element, KernelImage, Parameter, kernel, ptx};
use warpsmith_device::{CudaDevice, LaunchShape};
use warpsmith_workload::Parameters;

use super::workload::{positions, shape};
use crate::operation::Launch;

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
    // SAFETY: `conv2d` in `conv2d.cu` takes these in this order; it checks that pictures, weights, biases
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
        // SAFETY: the kernels of `conv2d.sm80.cu` take the same and check the same, and that their stages
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

pub(super) fn launch(parameters: &Parameters, gpu: &CudaDevice) -> Launch {
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
}

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
