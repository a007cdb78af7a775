//! Runs a program, one block of lanes at a time.

mod control;
mod dense;
mod lane_function;
mod memory_access;
mod race_watch;
mod run;
mod tile;

pub(super) use control::Machine;
pub use dense::{DenseCall, DenseKind};
pub(super) use dense::{LaneMemory, run_dense};
pub(super) use lane_function::{first_not_less, less};
pub(super) use memory_access::updated;
