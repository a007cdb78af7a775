//! `training/attention`: scaled dot-product attention.

mod cpu;
mod cuda;
mod workload;

pub use cpu::{Attention, attend};
pub(crate) use workload::ATTENTION;
