//! The measurements behind the five headline numbers.

use serde::Serialize;
use warpsmith_measure::measurement::Measurement;

/// What describes a machine; absent is what was not measured.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Numbers {
    /// A copy that no cache holds.
    pub memory: Option<Rate>,
    /// Chains of multiply-adds in single precision.
    pub arithmetic: Option<Rate>,
    /// One empty kernel (on a CPU: one empty task), from the call to the end of the wait.
    pub launch: Option<Measurement>,
    /// A copy from page-locked memory to the GPU, end to end.
    pub pinned: Option<Rate>,
    /// A copy from pageable memory to the GPU, end to end.
    pub pageable: Option<Rate>,
    /// A copy that a core's cache holds.
    pub cached: Option<Rate>,
}

/// Runs that move or compute the same amount each.
#[derive(Clone, Debug, Serialize)]
pub struct Rate {
    /// Bytes or operations of a run.
    pub amount: f64,
    /// The size in words, e.g. `256 MiB`.
    pub size: String,
    /// The runs.
    pub measurement: Measurement,
}
