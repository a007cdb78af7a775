//! `training/attention`: scaled dot-product attention.

mod bf16;
mod cpu;
mod cuda;
mod definition;
mod workload;

pub use cpu::{Attention, attend, attend_bf16};
pub(crate) use workload::AttentionWorkload;
