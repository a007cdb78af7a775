//! `training/gelu`: the Gaussian error linear unit.

mod cpu;
mod cuda;
mod definition;
mod workload;

pub use cpu::{Gelu, gelu_in_place};
pub(crate) use definition::exact_gelu;
pub(crate) use workload::GELU;
