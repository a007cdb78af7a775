//! What operations over the rows of a matrix share: a matrix read once, written once.

use warpsmith_core::{Bytes, Flops};
use warpsmith_device::{Argument, CudaDevice, LaunchShape};
use warpsmith_workload::{Cost, ParameterSpec, Parameters};

/// Threads of a block, as the kernels insist.
pub(crate) const THREADS: u32 = 256;
/// Rows up to this width belong to a warp.
const WARP_WIDTH: usize = 1024;
/// Blocks that one multiprocessor is given: all that it can hold.
const RESIDENT_BLOCKS: usize = 8;

pub(crate) const ROWS: ParameterSpec =
    ParameterSpec::integer("rows", "rows of the matrix", 32_768, 1, 1 << 32);
pub(crate) const WIDTH: ParameterSpec =
    ParameterSpec::integer("width", "numbers of a row", 1024, 1, 1 << 20);
/// Numbers to a task: 256 KiB.
pub(crate) const CHUNK: usize = 1 << 16;

pub(crate) fn elements(parameters: &Parameters) -> usize {
    parameters
        .size("rows")
        .saturating_mul(parameters.size("width"))
}

pub(crate) fn width(parameters: &Parameters) -> Argument<'static> {
    u32::try_from(parameters.integer("width"))
        .unwrap_or(u32::MAX)
        .into()
}

pub(crate) fn cost(parameters: &Parameters, flops_per_element: u64) -> Cost {
    let elements = elements(parameters) as u64;
    Cost {
        bytes: Bytes(8 * elements),
        flops: Flops(flops_per_element * elements),
        units: elements,
        unit: "element",
    }
}

/// Blocks that take a row each, or eight where a row is short.
pub(crate) fn row_blocks(parameters: &Parameters, gpu: &CudaDevice) -> LaunchShape {
    let rows = parameters.size("rows");
    let width = parameters.size("width");
    let warps = width <= WARP_WIDTH && width.is_multiple_of(4);
    blocks(gpu, if warps { rows.div_ceil(8) } else { rows })
}

/// As many blocks as there is work for, and no more than the machine holds a few times over.
pub(crate) fn blocks(gpu: &CudaDevice, wanted: usize) -> LaunchShape {
    let most = gpu.facts().multiprocessors as usize * RESIDENT_BLOCKS * 4;
    LaunchShape::linear(wanted.min(most) * THREADS as usize, THREADS)
}

/// Numbers of a task of whole rows.
pub(crate) fn rows_of_a_task(parameters: &Parameters) -> usize {
    let width = parameters.size("width");
    (CHUNK / width).max(1) * width
}
