//! `training/gelu`: the Gaussian error linear unit.

mod cpu;
mod cuda;
mod workload;

pub use cpu::{Gelu, gelu_in_place};
pub(crate) use workload::GELU;
