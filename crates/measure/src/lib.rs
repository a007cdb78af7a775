//! Numbers that can be trusted: sampling, stop rules, statistics, comparison, leaks, scaling and
//! trace of anything that runs.
//!
//! Knows no particular workload. Figures are always derived from raw samples that are kept with
//! the conditions under which they were taken.

pub mod ablation;
pub mod command;
pub mod comparison;
pub mod cpu;
pub mod device_state;
pub mod findings;
pub mod gpu;
pub mod import;
pub mod kernel_file;
pub mod leak;
pub mod measurement;
pub mod memory_scaling;
mod parity;
pub mod peers;
pub mod profile;
pub mod report;
pub mod roofline;
mod roofline_on_vulkan;
pub mod run_sampler;
pub mod scaling;
pub mod selftest;
pub mod size_study;
pub mod statistics;
pub mod trace;
pub mod trajectory;

pub use parity::{Parity, check_definition, check_parity};
