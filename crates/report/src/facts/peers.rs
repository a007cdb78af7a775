//! Other programs on the same problem.

use serde::Serialize;

/// Reaction-diffusion by every backend and peer that is there.
#[derive(Clone, Debug, Serialize)]
pub struct LadderFacts {
    /// What was computed, e.g. `Reaction-diffusion, 100³ cells, 10 steps`.
    pub problem: String,
    /// The interpreter that had the peers; absent where there was none.
    pub python: Option<String>,
    /// Times, in no order.
    pub times: Vec<PeerTime>,
}

/// One program's time.
#[derive(Clone, Debug, Serialize)]
pub struct PeerTime {
    /// Which, with its threads.
    pub name: String,
    /// Wall seconds.
    pub seconds: f64,
    /// Ours.
    pub own: bool,
    /// On a GPU.
    pub gpu: bool,
}
