//! The arithmetic of training audio networks: normalisation, activation, attention, convolution,
//! products of matrices, and what happens to gradients. Plain functions over the caller's buffers.

mod adamw;
mod attention;
mod clip;
mod conv1d;
mod conv2d;
#[cfg(test)]
mod definitions;
mod error;
mod gelu;
mod matmul;
mod normalisation;
mod operation;
mod row_matrix;
mod softmax;
mod strands;

use warpsmith_workload::Workload;

pub use adamw::{AdamW, AdamWState};
pub use attention::{Attention, attend, attend_bf16};
pub use clip::{clip_gradient, gradient_norm};
pub use conv1d::Conv1d;
pub use conv2d::Conv2d;
pub use error::{ArgumentError, Result};
pub use gelu::{Gelu, gelu_in_place};
pub use matmul::{Bf16, Matmul, Number};
pub use normalisation::LayerNorm;
pub use softmax::softmax_rows;

/// All operations as workloads.
pub fn workloads() -> Vec<Box<dyn Workload>> {
    let mut all: Vec<Box<dyn Workload>> = Vec::new();
    for operation in [
        &normalisation::LAYER_NORM,
        &normalisation::LAYER_NORM_GELU,
        &gelu::GELU,
        &softmax::SOFTMAX,
        &conv1d::CONV1D,
        &conv2d::CONV2D,
    ] {
        all.push(Box::new(operation));
    }
    all.push(Box::new(attention::AttentionWorkload));
    all.push(Box::new(matmul::MatrixProduct));
    all.push(Box::new(clip::Clip));
    all.push(Box::new(adamw::AdamWStep));
    all
}
