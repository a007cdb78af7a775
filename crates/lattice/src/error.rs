//! What can be wrong with a lattice problem: what was attempted, what was seen, what would do.

use std::path::PathBuf;

use thiserror::Error;
use warpsmith_device::DeviceError;
use warpsmith_workload::WorkloadError;

use super::shape::Cell;

/// Why a lattice computation cannot be done.
#[derive(Debug, Error)]
pub enum LatticeError {
    /// A size that is no lattice.
    #[error("`{text}` is not a lattice: {problem}; write `128`, `64x128x256` or `1000x1000`")]
    Shape {
        /// What was given.
        text: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A cell outside the lattice, or no cell at all.
    #[error("`{text}` is not a cell of the lattice {shape}: {problem}")]
    Cell {
        /// What was given.
        text: String,
        /// The lattice.
        shape: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A parameter out of range.
    #[error("{name} is {value}: {problem}")]
    Parameter {
        /// What it is called.
        name: &'static str,
        /// What was given.
        value: f64,
        /// What would do.
        problem: String,
    },
    /// A buffer whose size does not fit the lattice.
    #[error("{what}: {found} cells, the lattice has {expected}")]
    Length {
        /// Which buffer.
        what: &'static str,
        /// Its cells.
        found: usize,
        /// The lattice's.
        expected: usize,
    },
    /// A search from or to a cell that is not free.
    #[error("the {role} {cell} is blocked; choose a free cell, or a lower density or another seed")]
    Blocked {
        /// `source` or `target`.
        role: &'static str,
        /// Where.
        cell: Cell,
    },
    /// A target that no path leads to.
    #[error("no path leads to {target}: it lies in a part of the lattice that is walled off")]
    Unreachable {
        /// Where.
        target: Cell,
    },
    /// A file that cannot be used.
    #[error("cannot {attempted} `{}`", path.display())]
    File {
        /// What was attempted.
        attempted: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A file with contents that do not fit.
    #[error("`{}`: {problem}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The device failed or is missing.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Turns an error into that of the workload with this id.
pub(crate) fn failed(workload: &'static str) -> impl Fn(LatticeError) -> WorkloadError {
    move |error| match error {
        LatticeError::Device(error) => WorkloadError::Device(error),
        other => WorkloadError::failed(workload, other),
    }
}
