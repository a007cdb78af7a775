//! Lattice workloads: reaction-diffusion, a Feistel stencil in borrowed memory, shortest paths on
//! bit tiles, and a keyed XOR.
//!
//! Each is defined exactly: every form (scalar, vectors, threads, GPU) gives the same bits, and the
//! tests hold them against each other and against an oracle that shares no code with them.

pub mod lattice;

pub use lattice::workloads;
