//! Lennard-Jones trajectories on the CPU.

mod engine;
mod lists;
mod trajectory;

pub use trajectory::Simulation;
