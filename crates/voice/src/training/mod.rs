//! The arithmetic of training audio networks: normalisation, activation, attention, convolution,
//! and what happens to gradients. Plain functions over the caller's buffers.

mod activation;
mod adamw;
mod attention;
mod convolution;
mod gradient;
mod normalisation;
mod softmax;

pub use activation::{Gelu, gelu_in_place};
pub use adamw::{AdamW, AdamWState};
pub use attention::{Attention, attend};
pub use convolution::Conv1d;
pub use gradient::{clip_gradient, gradient_norm};
pub use normalisation::LayerNorm;
pub use softmax::softmax_rows;
