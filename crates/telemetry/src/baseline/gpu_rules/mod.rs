//! What follows from a GPU's baseline: the rules behind the findings `B001` to `B021`.
//!
//! An error makes the GPU unfit for a baseline; a warning is said beside a fit one. A power cap
//! under load is what a power limit is for, so it is information.

mod facts;
mod faults;
mod load;
mod speed;
mod table;

pub(super) use facts::GpuFacts;
pub(super) use table::{LOAD_CODE, TOO_FEW_CODE, gpu_rules};
