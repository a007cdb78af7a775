//! Numbers that can be trusted: sampling, stop rules, statistics, comparison, leaks, scaling,
//! history and trace of anything that runs.
//!
//! Knows no particular workload. Figures are always derived from raw samples that are kept with
//! the conditions under which they were taken.

pub mod ablation;
pub mod comparison;
pub mod cpu;
pub mod gpu;
pub mod leak;
pub mod measurement;
mod output;
mod parameters;
mod parity;
pub mod random;
pub mod run_sampler;
pub mod scaling;
pub mod statistics;
mod timing;
pub mod trajectory;
mod workload;

pub use output::Output;
pub use parameters::{BadParameter, ParameterKind, ParameterSpec, ParameterValue, Parameters};
pub use parity::{Parity, check_parity};
pub use timing::{RunTimes, time_runs};
pub use workload::{ArguedTolerance, Cost, Prepared, Technique, Workload, WorkloadError};
