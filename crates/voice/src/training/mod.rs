//! The arithmetic of training audio networks: normalisation, activation, attention, convolution,
//! and what happens to gradients. Plain functions over the caller's buffers.

mod activation;
mod adamw;
mod attention;
mod convolution;
mod exponential;
mod gradient;
mod normalisation;
mod softmax;
mod strands;

pub use activation::{Gelu, gelu_in_place};
pub(crate) use adamw::Step;
pub use adamw::{AdamW, AdamWState};
pub use attention::{Attention, attend};
pub use convolution::Conv1d;
pub(crate) use gradient::sum_of_squares;
pub use gradient::{clip_gradient, gradient_norm};
pub use normalisation::LayerNorm;
pub use softmax::softmax_rows;
