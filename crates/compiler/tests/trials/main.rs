//! The compiler against files, a suite of kernels, C++ compilers, NVRTC and Warp itself. Trials that
//! need what is not there count as ignored.

#![allow(clippy::print_stderr, reason = "a trial reports what it counted")]

#[path = "../suite/mod.rs"]
mod suite;

mod conformance;
mod interpreter_against_warp;
mod kernel_files;
mod kernel_runs;
mod launch_layout;
mod nvrtc_suite;
mod warp_cpu;

use libtest_mimic::Arguments;

/// Kinds that compare with other compilers and run with `cargo xtask test --full` alone.
const ORACLES: [&str; 3] = ["interpreter_against_warp", "nvrtc_suite", "warp_cpu"];

fn main() {
    let full = std::env::var_os("WARPSMITH_FULL").is_some_and(|value| value == "1");
    let kinds = [
        ("conformance", conformance::trials()),
        (
            "interpreter_against_warp",
            interpreter_against_warp::trials(),
        ),
        ("kernel_files", kernel_files::trials()),
        ("kernel_runs", kernel_runs::trials()),
        ("launch_layout", launch_layout::trials()),
        ("nvrtc_suite", nvrtc_suite::trials()),
        ("warp_cpu", warp_cpu::trials()),
    ];
    let trials = kinds.into_iter().flat_map(|(kind, trials)| {
        trials.into_iter().map(move |trial| {
            let ignored = trial.has_ignored_flag() || (ORACLES.contains(&kind) && !full);
            trial.with_kind(kind).with_ignored_flag(ignored)
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}
