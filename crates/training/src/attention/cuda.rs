//! The kernels of `training/attention`, and which GPU runs which.

use warpsmith_core::{Element, KernelImage, Parameter, kernel};
use warpsmith_device::{CudaDevice, LaunchShape};
use warpsmith_workload::Parameters;

use super::workload::shape;
use crate::operation::Launch;

/// Threads of a block, as most kernels insist, and keys that it takes at a time.
const THREADS: u32 = 128;
const TILE: usize = 64;

const fn parameters_of(element: Element) -> [Parameter; 8] {
    [
        Parameter::In(element),
        Parameter::In(element),
        Parameter::In(element),
        Parameter::Out(element),
        Parameter::Value(Element::U32),
        Parameter::Value(Element::U32),
        Parameter::Value(Element::U32),
        Parameter::Value(Element::F32),
    ]
}
const OF_F32: &[Parameter] = &parameters_of(Element::F32);
const OF_BF16: &[Parameter] = &parameters_of(Element::U16);

/// A kernel, the queries and threads of its block, and its bytes of shared memory.
struct Way {
    kernel: KernelImage,
    queries: usize,
    threads: u32,
    shared_bytes: usize,
}

// SAFETY: `attention` in `attention.cu` takes these in this order; it checks that its head ends
// inside all four buffers and that its shared memory is as large as its tiles; tokens beyond the
// last are never loaded or stored.
static ANY: KernelImage = unsafe { kernel!("training/attention", attention: OF_F32) };
// SAFETY: as for `attention`, of which this is the form for other numbers.
static ANY_BF16: KernelImage = unsafe { kernel!("training/attention", attention_bf16: OF_BF16) };

/// From Ampere on, by tensor cores: for 64 numbers of a query, and for 128.
static SM80: [Way; 2] = [
    Way {
        // SAFETY: the kernels of `attention.sm80.cu` take the same and check the same.
        kernel: unsafe { kernel!("training/attention.sm80", attention_64: OF_F32) },
        queries: 128,
        threads: THREADS,
        shared_bytes: padded_bytes(128, 64, 2),
    },
    Way {
        // SAFETY: as above.
        kernel: unsafe { kernel!("training/attention.sm80", attention_128: OF_F32) },
        queries: 64,
        threads: THREADS,
        shared_bytes: padded_bytes(64, 128, 1),
    },
];

/// The same over bf16.
static BF16_SM80: [Way; 2] = [
    Way {
        // SAFETY: the kernels of `attention_bf16.sm80.cu` take the same and check the same.
        kernel: unsafe { kernel!("training/attention_bf16.sm80", attention_64: OF_BF16) },
        queries: 128,
        threads: THREADS,
        shared_bytes: bf16_bytes(64),
    },
    Way {
        // SAFETY: as above.
        kernel: unsafe { kernel!("training/attention_bf16.sm80", attention_128: OF_BF16) },
        queries: 128,
        threads: THREADS,
        shared_bytes: bf16_bytes(128),
    },
];

/// On Hopper, by its warpgroups.
static BF16_SM90: [Way; 2] = [
    Way {
        // SAFETY: the kernels of `attention_bf16.sm90a.cu` take the same and check the same.
        kernel: unsafe { kernel!("training/attention_bf16.sm90a", attention_64: OF_BF16) },
        queries: 128,
        threads: 2 * THREADS,
        shared_bytes: bf16_bytes(64),
    },
    Way {
        // SAFETY: as above.
        kernel: unsafe { kernel!("training/attention_bf16.sm90a", attention_128: OF_BF16) },
        queries: 128,
        threads: 2 * THREADS,
        shared_bytes: bf16_bytes(128),
    },
];

/// Queries, and tiles of keys and of values, whose rows are padded by 8 and by 4.
const fn padded_bytes(queries: usize, width: usize, stages: usize) -> usize {
    4 * (queries * (width + 8) + stages * TILE * (2 * width + 12))
}

/// Queries, and two tiles each of keys and of values.
const fn bf16_bytes(width: usize) -> usize {
    2 * (128 + 4 * TILE) * width
}

/// The kernel of `type` for a GPU and a shape.
pub(super) fn launch(parameters: &Parameters, gpu: &CudaDevice) -> Launch {
    let shape = shape(parameters);
    let kind = parameters.choice("type");
    let newest = match kind.split_once("-sm") {
        Some((_, sm)) => sm.parse().unwrap_or(u32::MAX),
        None => u32::MAX,
    };
    let (any, ways) = match (kind.starts_with("bf16"), gpu.facts().sm().min(newest)) {
        (true, 90) => (&ANY_BF16, Some(&BF16_SM90)),
        (true, 80..) => (&ANY_BF16, Some(&BF16_SM80)),
        (true, _) => (&ANY_BF16, None),
        (false, 80..) => (&ANY, Some(&SM80)),
        (false, _) => (&ANY, None),
    };
    let way = ways.map(|ways| &ways[usize::from(shape.width == 128)]);
    // Some GPUs from Ampere on have less shared memory than these kernels take.
    let most = gpu.facts().shared_bytes_per_block as usize;
    let (kernel, queries, threads, shared_bytes) = match way {
        Some(way) if way.shared_bytes <= most => {
            (&way.kernel, way.queries, way.threads, way.shared_bytes)
        }
        _ => {
            let pitch = TILE + 4;
            let bytes = 4 * (2 * shape.width * pitch + TILE * shape.width);
            (any, TILE, THREADS, bytes)
        }
    };
    Launch {
        kernel,
        shape: LaunchShape {
            grid: [shape.tokens.div_ceil(queries) as u32, shape.heads as u32, 1],
            block: [threads, 1, 1],
            shared_bytes: shared_bytes as u32,
        },
        scalars: vec![
            (shape.tokens as u32).into(),
            (shape.width as u32).into(),
            u32::from(shape.causal).into(),
            shape.scale().into(),
        ],
    }
}
