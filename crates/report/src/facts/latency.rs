//! How long a workload takes.

use serde::Serialize;
use warpsmith_measure::measurement::{Figures, Measurement};

/// How long a workload takes with its default settings.
#[derive(Clone, Debug, Serialize)]
pub struct Latency {
    /// Its id.
    pub workload: String,
    /// Its parameters as `name=value` words.
    pub parameters: String,
    /// Bytes that a run moves.
    pub bytes: u64,
    /// Operations of a run.
    pub flops: u64,
    /// Units of work of a run.
    pub units: u64,
    /// What a unit is.
    pub unit: String,
    /// Memory that it holds, in bytes.
    pub memory: Option<u64>,
    /// The samples.
    pub measurement: Measurement,
    /// Their figures.
    #[serde(skip)]
    pub figures: Figures,
}
