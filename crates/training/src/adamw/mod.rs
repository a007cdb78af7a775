//! `training/adamw`: a step of the optimiser.

mod cpu;
mod cuda;
mod definition;
mod workload;

pub use cpu::{AdamW, AdamWState};
pub(crate) use workload::AdamWStep;
