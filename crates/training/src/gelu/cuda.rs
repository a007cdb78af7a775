//! The kernel of `training/gelu`.

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::CudaDevice;
use warpsmith_workload::Parameters;

use super::cpu::Gelu;
use super::workload::kind;
use crate::operation::Launch;
use crate::row_matrix::{THREADS, blocks, elements};

// SAFETY: `gelu` in `activation.cu` takes these in this order and keeps below the lesser of the
// two lengths.
static KERNEL: KernelImage = unsafe { kernel!("training/activation", gelu(in f32, out f32, u32)) };

pub(super) fn launch(parameters: &Parameters, gpu: &CudaDevice) -> Launch {
    Launch {
        kernel: &KERNEL,
        shape: blocks(gpu, elements(parameters).div_ceil(4 * THREADS as usize)),
        scalars: vec![u32::from(kind(parameters) == Gelu::Exact).into()],
    }
}
