//! The program itself, for the `warpsmith` command that the wheel brings.

use std::ffi::OsString;

use pyo3::prelude::*;
use warpsmith::Host;

/// Runs the program with a command line, its own name first; returns the exit code. `program` are the
/// words that start it again, for verbs that work in a second process.
#[pyfunction]
pub(crate) fn run_program(
    py: Python<'_>,
    program: Vec<OsString>,
    command_line: Vec<OsString>,
) -> u8 {
    let host = Host {
        program,
        allocations: None,
    };
    py.detach(|| warpsmith::run(host, command_line))
}
