//! Numbers that can be trusted: sampling, stop rules, statistics, comparison, leaks, scaling,
//! history and trace of anything that runs.
//!
//! Knows no particular workload. Figures are always derived from raw samples that are kept with
//! the conditions under which they were taken.

pub mod ablation;
mod affordable;
pub mod comparison;
pub mod cpu;
pub mod findings;
pub mod gpu;
pub mod history;
pub mod import;
pub mod kernel_file;
pub mod leak;
pub mod measurement;
mod output;
mod parameters;
mod parity;
pub mod peers;
pub mod profile;
pub mod random;
pub mod report;
pub mod roofline;
pub mod run_sampler;
pub mod scaling;
pub mod selftest;
pub mod size_study;
pub mod statistics;
pub mod trace;
pub mod trajectory;
mod workload;

pub use affordable::affordable_settings;
pub use output::Output;
pub use parameters::{BadParameter, ParameterKind, ParameterSpec, ParameterValue, Parameters};
pub use parity::{Parity, check_parity};
pub use workload::{
    ArguedTolerance, Cost, Judgement, Prepared, Sizes, Technique, Workload, WorkloadError,
};
