//! `training/clip`: the norm of a gradient, and the clipping that keeps it from growing.

mod cpu;
mod cuda;
mod definition;
mod workload;

pub use cpu::{clip_gradient, gradient_norm};
pub(crate) use workload::Clip;
