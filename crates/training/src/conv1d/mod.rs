//! `training/conv1d`: one-dimensional convolution over channels.

mod cpu;
mod cuda;
mod definition;
mod workload;

pub use cpu::Conv1d;
pub(crate) use workload::CONV1D;
