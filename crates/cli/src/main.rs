//! The program: arguments → settings → one call → report → exit code.

use std::process::ExitCode;

mod allocations;
mod arguments;
mod background_calibration;
mod catalogue;
mod commands;
mod exit;
mod kernel_argument;
mod kernel_placement;
mod manual;
mod measured;
mod npy_file;
mod output;
mod placement;
mod report;
mod report_progress;
mod table;
mod warp_library;

/// Machine code that this build carries; empty unless `cargo xtask kernels --cubins` ran before it.
const CUBINS: &[warpsmith_device::EmbeddedCubin] = include!(concat!(env!("OUT_DIR"), "/cubins.rs"));

fn main() -> ExitCode {
    warpsmith_device::embed_cubins(CUBINS);
    exit::run(arguments::parse())
}
