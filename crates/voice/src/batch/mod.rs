//! Ragged batches of signals: what every workload of this crate runs over, on the CPU and on a GPU.

mod cpu_files;
mod cut;
mod in_place;
mod launch;
mod ragged;
mod workload;

pub(crate) use cpu_files::{CpuFiles, checked, failed};
pub(crate) use cut::each_on_cuda;
pub use in_place::DeviceSignals;
pub(crate) use in_place::{DeviceResult, in_place};
pub(crate) use launch::launch_parts;
pub(crate) use ragged::{Batch, DeviceBatch, PARAMETERS, lengths, sample_rate};
#[cfg(test)]
pub(crate) use workload::computed_twice;
pub(crate) use workload::{BatchWorkload, Made, about, about_with, frames_cost};
