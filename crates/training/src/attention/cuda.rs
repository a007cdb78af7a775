//! The kernel of `training/attention`.

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, LaunchShape};
use warpsmith_workload::Parameters;

use super::workload::shape;
use crate::operation::Launch;

/// Threads of a block and queries that it takes, as the kernel insists.
const THREADS: u32 = 128;
const TILE: usize = 64;

// SAFETY: `attention` in `attention.cu` takes these in this order; it checks that its head ends
// inside all four buffers and that its shared memory is as large as its tiles; tokens beyond the
// last are never loaded or stored.
static KERNEL: KernelImage = unsafe {
    kernel!("training/attention", attention(in f32, in f32, in f32, out f32, u32, u32, u32, f32))
};

pub(super) fn launch(parameters: &Parameters, _: &CudaDevice) -> Launch {
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
}
