//! The kernel of `training/layer-norm` and `training/layer-norm-gelu`.

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::CudaDevice;
use warpsmith_workload::Parameters;

use super::workload::EPSILON;
use crate::operation::Launch;
use crate::row_matrix::{row_blocks, width};

// SAFETY: `layer_norm` in `normalisation.cu` takes these in this order; rows are counted from
// the shorter of the two matrices, columns are below `width`, which no table is shorter than.
static KERNEL: KernelImage = unsafe {
    kernel!("training/normalisation", layer_norm(in f32, in f32, in f32, out f32, u32, f32, u32))
};

pub(super) fn launch(parameters: &Parameters, gpu: &CudaDevice, gelu: bool) -> Launch {
    Launch {
        kernel: &KERNEL,
        shape: row_blocks(parameters, gpu),
        scalars: vec![width(parameters), EPSILON.into(), u32::from(gelu).into()],
    }
}
