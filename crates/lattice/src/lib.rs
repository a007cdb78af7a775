//! Lattice workloads: reaction-diffusion, a Feistel stencil in borrowed memory, shortest paths on
//! bit tiles, and a keyed XOR.
//!
//! Each is defined exactly: every form (scalar, vectors, threads, GPU) gives the same bits, and the
//! tests hold them against each other and against an oracle that shares no code with them.
//! All are computations on Z_n^d with an open boundary, row-major, the last coordinate fastest.

pub mod bfs;
pub mod catalytic;
mod error;
pub mod image;
pub mod rd;
mod shape;
mod switches;
mod vulkan;
pub mod xor;

pub use error::LatticeError;
pub use shape::{Cell, Shape};
pub use warpsmith_lanes::InstructionSet;

use warpsmith_workload::Workload;

/// A script for `warpsmith_measure::peers`: `rd N STEPS` or `bfs N`.
pub const PEERS: &str = include_str!("../benches/peers.py");

/// The workloads of the lattice.
pub fn workloads() -> Vec<Box<dyn Workload>> {
    vec![
        Box::new(bfs::BfsWorkload),
        Box::new(catalytic::CatalyticWorkload),
        Box::new(rd::RdWorkload),
        Box::new(xor::XorWorkload),
    ]
}
