//! Lennard-Jones trajectories on a GPU.

mod buffers;
mod engine;
mod kernels;
mod simulation;
mod step;

pub use simulation::CudaSimulation;
