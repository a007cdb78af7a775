//! The kernel of `training/conv1d`.

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, LaunchShape};
use warpsmith_workload::Parameters;

use super::workload::{positions, shape};
use crate::operation::Launch;

/// Threads of a block, and channels and positions that it makes.
const THREADS: u32 = 128;
const CHANNELS: usize = 128;
const POSITIONS: usize = 64;

// SAFETY: `conv1d` in `conv1d.cu` takes these in this order; it checks the signal, the weights,
// the biases and the result against their lengths, and loads and stores below channels and positions.
static KERNEL: KernelImage = unsafe {
    kernel!("training/conv1d", conv1d(
        in f32, in f32, in f32, out f32, u32, u32, u32, u32, u32, u32, u32, u32
    ))
};

pub(super) fn launch(parameters: &Parameters, _: &CudaDevice) -> Launch {
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
}
