//! The kernel of `training/softmax`.

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::CudaDevice;
use warpsmith_workload::Parameters;

use crate::operation::Launch;
use crate::row_matrix::{row_blocks, width};

// SAFETY: `softmax` in `normalisation/normalisation.cu` takes these in this order; rows are counted from the
// shorter of the two matrices.
static KERNEL: KernelImage =
    unsafe { kernel!("training/normalisation", softmax(in f32, out f32, u32)) };

pub(super) fn launch(parameters: &Parameters, gpu: &CudaDevice) -> Launch {
    Launch {
        kernel: &KERNEL,
        shape: row_blocks(parameters, gpu),
        scalars: vec![width(parameters)],
    }
}
