//! Nsight Compute as it is called here: which counters, at which clocks, and why it has none.

use std::path::Path;
use std::process::Command;

use warpsmith_case::COUNTERS;

/// `ncu` with our counters, as CSV; what is profiled, and the program, are still to be added.
pub(crate) fn command(ncu: &Path) -> Command {
    let mut command = Command::new(ncu);
    command
        .args(["--csv", "--page=details", "--print-units=base"])
        // At the clocks that `bench` sees; the default would lower them.
        .arg("--clock-control=none")
        .args(["--metrics", &COUNTERS.join(",")]);
    command
}

/// Why its output has no counters; `None` where the driver did not refuse them.
pub(crate) fn refusal(text: &str) -> Option<&'static str> {
    text.contains("ERR_NVGPUCTRPERM").then_some(
        "no counters: the driver keeps them from this user (ERR_NVGPUCTRPERM); run as root, or load \
         the driver with `NVreg_RestrictProfilingToAdminUsers=0`",
    )
}

/// What is said where it is not installed.
pub(crate) const NOT_INSTALLED: &str = "no counters: `ncu` (Nsight Compute) is not installed";
