//! Numbers that can be trusted: sampling, stop rules, statistics, comparison, leaks, scaling,
//! history and trace of anything that runs.
//!
//! Knows no particular workload. Figures are always derived from raw samples that are kept with
//! the conditions under which they were taken.

pub mod comparison;
pub mod cpu;
pub mod leak;
pub mod measurement;
pub mod random;
pub mod scaling;
pub mod statistics;
