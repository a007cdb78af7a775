//! The arithmetic of training audio networks: normalisation, activation, attention, convolution,
//! products of matrices, and what happens to gradients. Plain functions over the caller's buffers.

mod activation;
mod adamw;
mod attention;
mod bf16;
mod conv2d;
mod convolution;
mod error;
mod gradient;
mod matmul;
mod normalisation;
mod product;
mod softmax;
mod strands;
mod workload;

pub use activation::{Gelu, gelu_in_place};
pub(crate) use adamw::Step;
pub use adamw::{AdamW, AdamWState};
pub use attention::{Attention, attend};
pub use bf16::Bf16;
pub use conv2d::Conv2d;
pub use convolution::Conv1d;
pub use error::{Result, TrainingError};
pub(crate) use gradient::sum_of_squares;
pub use gradient::{clip_gradient, gradient_norm};
pub use matmul::{Matmul, Number};
pub use normalisation::LayerNorm;
pub use softmax::softmax_rows;
pub use workload::workloads;
