//! `training/layer-norm`, `layer-norm-gelu`, `gelu` and `softmax`: a matrix read once, written once.

use rayon::prelude::*;
use warpsmith_core::{Bytes, Flops, KernelImage, Tolerance, kernel};
use warpsmith_device::{Argument, CudaDevice, LaunchShape};
use warpsmith_workload::{ArguedTolerance, Cost, ParameterKind, ParameterSpec, Parameters};

use super::operation::{Launch, Operation};
use crate::error::Result;
use crate::{Gelu, LayerNorm, gelu_in_place, softmax_rows};

const EPSILON: f32 = 1e-5;
/// Threads of a block, as the kernels insist.
const THREADS: u32 = 256;
/// Rows up to this width belong to a warp.
const WARP_WIDTH: usize = 1024;
/// Blocks that one multiprocessor is given: all that it can hold.
const RESIDENT_BLOCKS: usize = 8;

const ROWS: ParameterSpec = ParameterSpec {
    name: "rows",
    meaning: "rows of the matrix",
    kind: ParameterKind::Integer {
        default: 32_768,
        min: 1,
        max: 1 << 32,
    },
};
const WIDTH: ParameterSpec = ParameterSpec {
    name: "width",
    meaning: "numbers of a row",
    kind: ParameterKind::Integer {
        default: 1024,
        min: 1,
        max: 1 << 20,
    },
};
const KIND: ParameterSpec = ParameterSpec {
    name: "kind",
    meaning: "the error function or its approximation by the hyperbolic tangent",
    kind: ParameterKind::Choice(&["exact", "tanh"]),
};

// SAFETY: `layer_norm` in `cuda/normalisation.cu` takes these in this order; rows are counted from
// the shorter of the two matrices, columns are below `width`, which no table is shorter than.
static LAYER_NORM_KERNEL: KernelImage = unsafe {
    kernel!("training/normalisation", layer_norm(in f32, in f32, in f32, out f32, u32, f32, u32))
};

// SAFETY: `softmax` in `cuda/normalisation.cu` takes these in this order; rows are counted from the
// shorter of the two matrices.
static SOFTMAX_KERNEL: KernelImage =
    unsafe { kernel!("training/normalisation", softmax(in f32, out f32, u32)) };

// SAFETY: `gelu` in `cuda/activation.cu` takes these in this order and keeps below the lesser of the
// two lengths.
static GELU_KERNEL: KernelImage =
    unsafe { kernel!("training/activation", gelu(in f32, out f32, u32)) };

pub(super) static LAYER_NORM: Operation = Operation {
    id: "training/layer-norm",
    summary: "rows to mean 0 and variance 1, scaled and shifted",
    parameters: &[ROWS, WIDTH],
    cost: |parameters| cost(parameters, 8),
    tolerance: |_| LAYER_NORM_TOLERANCE,
    refuses: |_| None,
    inputs: layer_norm_inputs,
    output: elements,
    cpu: |parameters, inputs, out| layer_norm(parameters, inputs, out, None),
    launch: |parameters, gpu| layer_norm_launch(parameters, gpu, false),
};

pub(super) static LAYER_NORM_GELU: Operation = Operation {
    id: "training/layer-norm-gelu",
    summary: "layer norm and exact GELU in one pass",
    parameters: &[ROWS, WIDTH],
    cost: |parameters| cost(parameters, 30),
    tolerance: |_| LAYER_NORM_TOLERANCE,
    refuses: |_| None,
    inputs: layer_norm_inputs,
    output: elements,
    cpu: |parameters, inputs, out| layer_norm(parameters, inputs, out, Some(Gelu::Exact)),
    launch: |parameters, gpu| layer_norm_launch(parameters, gpu, true),
};

pub(super) static GELU: Operation = Operation {
    id: "training/gelu",
    summary: "the Gaussian error linear unit",
    parameters: &[ROWS, WIDTH, KIND],
    cost: |parameters| cost(parameters, 25),
    tolerance: |_| ArguedTolerance {
        tolerance: Tolerance {
            abs: 1e-6,
            rel: 1e-6,
            ulp: 0,
        },
        because: "the error function and the tangent are within 2 ULP on both sides, their sum \
                  with 1 rounds to 6e-8, and inputs beyond 5 are rare",
    },
    refuses: |_| None,
    inputs: |parameters| vec![elements(parameters)],
    output: elements,
    cpu: |parameters, inputs, out| {
        let kind = kind(parameters);
        out.par_chunks_mut(CHUNK)
            .zip(inputs[0].par_chunks(CHUNK))
            .for_each(|(out, x)| {
                out.copy_from_slice(x);
                gelu_in_place(out, kind);
            });
        Ok(())
    },
    launch: |parameters, gpu| Launch {
        kernel: &GELU_KERNEL,
        shape: blocks(gpu, elements(parameters).div_ceil(4 * THREADS as usize)),
        scalars: vec![u32::from(kind(parameters) == Gelu::Exact).into()],
    },
};

pub(super) static SOFTMAX: Operation = Operation {
    id: "training/softmax",
    summary: "rows as shares of the sum of their exponentials",
    parameters: &[ROWS, WIDTH],
    cost: |parameters| cost(parameters, 6),
    tolerance: |_| ArguedTolerance {
        tolerance: Tolerance {
            abs: 1e-7,
            rel: 4e-6,
            ulp: 0,
        },
        because: "the GPU's exponential errs by 2 ULP and one more for each unit of its argument, \
                  which is above -10 for normal inputs; sums of positive numbers do not cancel",
    },
    refuses: |_| None,
    inputs: |parameters| vec![elements(parameters)],
    output: elements,
    cpu: |parameters, inputs, out| {
        let width = parameters.size("width");
        let rows = (CHUNK / width).max(1) * width;
        out.par_chunks_mut(rows)
            .zip(inputs[0].par_chunks(rows))
            .try_for_each(|(out, x)| softmax_rows(x, width, out))
    },
    launch: |parameters, gpu| Launch {
        kernel: &SOFTMAX_KERNEL,
        shape: row_blocks(parameters, gpu),
        scalars: vec![width(parameters)],
    },
};

const LAYER_NORM_TOLERANCE: ArguedTolerance = ArguedTolerance {
    tolerance: Tolerance {
        abs: 5e-6,
        rel: 5e-6,
        ulp: 0,
    },
    because: "mean and variance of a row are sums of some thousand f32 numbers in a tree: 1e-6 of \
              the deviation; scale and shift add one rounding, and scales are up to 5",
};

/// Numbers to a task: 256 KiB.
const CHUNK: usize = 1 << 16;

fn kind(parameters: &Parameters) -> Gelu {
    if parameters.choice("kind") == "tanh" {
        Gelu::Tanh
    } else {
        Gelu::Exact
    }
}

fn elements(parameters: &Parameters) -> usize {
    parameters
        .size("rows")
        .saturating_mul(parameters.size("width"))
}

fn width(parameters: &Parameters) -> Argument<'static> {
    u32::try_from(parameters.integer("width"))
        .unwrap_or(u32::MAX)
        .into()
}

fn cost(parameters: &Parameters, flops_per_element: u64) -> Cost {
    let elements = elements(parameters) as u64;
    Cost {
        bytes: Bytes(8 * elements),
        flops: Flops(flops_per_element * elements),
        units: elements,
        unit: "element",
    }
}

fn layer_norm_inputs(parameters: &Parameters) -> Vec<usize> {
    let width = parameters.size("width");
    vec![elements(parameters), width, width]
}

fn layer_norm(
    parameters: &Parameters,
    inputs: &[Vec<f32>],
    out: &mut [f32],
    activation: Option<Gelu>,
) -> Result<()> {
    let norm = LayerNorm {
        scale: inputs[1].clone(),
        shift: inputs[2].clone(),
        epsilon: EPSILON,
        activation,
    };
    let width = parameters.size("width");
    let rows = (CHUNK / width).max(1) * width;
    out.par_chunks_mut(rows)
        .zip(inputs[0].par_chunks(rows))
        .try_for_each(|(out, x)| norm.rows_into(x, out))
}

fn layer_norm_launch(parameters: &Parameters, gpu: &CudaDevice, gelu: bool) -> Launch {
    Launch {
        kernel: &LAYER_NORM_KERNEL,
        shape: row_blocks(parameters, gpu),
        scalars: vec![width(parameters), EPSILON.into(), u32::from(gelu).into()],
    }
}

/// Blocks that take a row each, or eight where a row is short.
fn row_blocks(parameters: &Parameters, gpu: &CudaDevice) -> LaunchShape {
    let rows = parameters.size("rows");
    let width = parameters.size("width");
    let warps = width <= WARP_WIDTH && width.is_multiple_of(4);
    blocks(gpu, if warps { rows.div_ceil(8) } else { rows })
}

/// As many blocks as there is work for, and no more than the machine holds a few times over.
fn blocks(gpu: &CudaDevice, wanted: usize) -> LaunchShape {
    let most = gpu.facts().multiprocessors as usize * RESIDENT_BLOCKS * 4;
    LaunchShape::linear(wanted.min(most) * THREADS as usize, THREADS)
}
