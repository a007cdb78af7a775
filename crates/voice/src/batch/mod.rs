//! Ragged batches of signals: what every workload of this crate runs over, on the CPU and on a GPU.

mod cpu_files;
mod cut;
mod ragged;

pub(crate) use cpu_files::{CpuFiles, checked, failed};
pub(crate) use cut::cut;
pub(crate) use ragged::{Batch, DeviceBatch, PARAMETERS, lengths, sample_rate};
