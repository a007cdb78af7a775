//! The kernels of `training/attention`.

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, LaunchShape};
use warpsmith_workload::Parameters;

use super::workload::shape;
use crate::operation::Launch;

/// Threads of a block, as the kernels insist, and keys that it takes at a time.
const THREADS: u32 = 128;
const TILE: usize = 64;

/// A kernel, the queries of its block, and the numbers that it has in shared memory.
struct Way {
    kernel: KernelImage,
    queries: usize,
    floats: usize,
}

// SAFETY: `attention` in `attention.cu` takes these in this order; it checks that its head ends
// inside all four buffers and that its shared memory is as large as its tiles; tokens beyond the
// last are never loaded or stored.
static ANY: KernelImage = unsafe {
    kernel!("training/attention", attention(in f32, in f32, in f32, out f32, u32, u32, u32, f32))
};

/// From Ampere on, by tensor cores: for 64 numbers of a query, and for 128.
static SM80: [Way; 2] = [
    Way {
        // SAFETY: the kernels of `attention.sm80.cu` take the same and check the same.
        kernel: unsafe {
            kernel!("training/attention.sm80", attention_64(in f32, in f32, in f32, out f32, u32, u32, u32, f32))
        },
        queries: 128,
        floats: floats(128, 64, 2),
    },
    Way {
        // SAFETY: as above.
        kernel: unsafe {
            kernel!("training/attention.sm80", attention_128(in f32, in f32, in f32, out f32, u32, u32, u32, f32))
        },
        queries: 64,
        floats: floats(64, 128, 1),
    },
];

/// Queries, and tiles of keys and of values, whose rows are padded by 8 and by 4.
const fn floats(queries: usize, width: usize, stages: usize) -> usize {
    queries * (width + 8) + stages * TILE * (2 * width + 12)
}

pub(super) fn launch(parameters: &Parameters, gpu: &CudaDevice) -> Launch {
    let shape = shape(parameters);
    let sm = match parameters.choice("type") {
        "f32-sm70" => 70,
        _ => gpu.facts().sm(),
    };
    let way = &SM80[usize::from(shape.width == 128)];
    // Some GPUs from Ampere on have less shared memory than these kernels take.
    let fits = 4 * way.floats <= gpu.facts().shared_bytes_per_block as usize;
    let (kernel, queries, floats) = if sm >= 80 && fits {
        (&way.kernel, way.queries, way.floats)
    } else {
        let pitch = TILE + 4;
        (&ANY, TILE, 2 * shape.width * pitch + TILE * shape.width)
    };
    Launch {
        kernel,
        shape: LaunchShape {
            grid: [shape.tokens.div_ceil(queries) as u32, shape.heads as u32, 1],
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
