//! Whether the GPU computes what the CPU says.

use serde::Serialize;
use warpsmith_measure::Parity;

/// A workload on the GPU compared with the CPU.
#[derive(Clone, Debug, Serialize)]
pub struct ParityFacts {
    /// Its id.
    pub workload: String,
    /// What it does.
    pub summary: String,
    /// Why its tolerance is what it is.
    pub because: String,
    /// How it came out; absent where it has no form for the GPU.
    pub parity: Option<Parity>,
}
