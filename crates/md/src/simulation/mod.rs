//! Lennard-Jones trajectories on the CPU.

mod engine;
mod lists;
mod trajectory;
mod workload;

pub use trajectory::Simulation;
pub(crate) use workload::{ID, LennardJonesStep, held_bytes};
