//! Molecular dynamics: Lennard-Jones trajectories and a small neural force field, on the CPU, which
//! is the specification, and on the GPU.
//!
//! Reduced units throughout: lengths in σ, energies in ε, masses in m, times in σ·√(m/ε).
//!
//! A trajectory is determined by its start: no iteration over hash maps, no atomics whose order
//! matters, random numbers from (seed, step, atom) alone. A run that is interrupted and restarted
//! from its checkpoint gives the same bits as one that was not.

mod cell_grid;
mod checkpoint;
mod engine;
mod error;
mod findings;
mod gpu;
mod instructions;
mod neighbour_list;
mod network;
mod overlap;
mod pair_force;
mod periodic_box;
mod potential;
mod random_kick;
mod real;
mod reference;
mod settings;
mod simulation;
mod start;
mod thermodynamics;
mod trajectory_file;
mod verlet;
mod workloads;

pub use checkpoint::{Checkpoint, Precision, State};
pub use engine::Engine;
pub use error::{MdError, Result};
pub use findings::{FAMILY, drift_finding, mixed_arithmetic, of_error};
pub use gpu::CudaSimulation;
pub use network::{CudaNetwork, ForceNetwork, NetworkScratch};
pub use periodic_box::PeriodicBox;
pub use potential::{LennardJones, Truncation};
pub use real::Real;
pub use reference::{PairSums, reference_forces};
pub use settings::{Settings, Thermostat};
pub use simulation::Simulation;
pub use start::{Atoms, FCC_ATOMS, fcc_lattice, maxwell_velocities};
pub use thermodynamics::Thermodynamics;
pub use trajectory_file::{Frame, read_frame, write_frame};
pub use warpsmith_lanes::InstructionSet;
pub use workloads::{held_bytes, workloads};

/// A script for `warpsmith_measure::peers`: `lj ATOMS` or `network ATOMS`.
pub const PEERS: &str = include_str!("../benches/peers.py");
