//! `training/layer-norm` and `training/layer-norm-gelu`: rows to mean 0 and variance 1.

mod cpu;
mod cuda;
mod definition;
mod workload;

pub use cpu::LayerNorm;
pub(crate) use workload::{LAYER_NORM, LAYER_NORM_GELU};
