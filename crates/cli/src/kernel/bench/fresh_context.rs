//! Going on after work that never ended, in a new context.
//!
//! Nothing can stop a kernel that runs, and the context it runs in ends with the process only. So
//! the process replaces itself: the same command line, with the names of what was given up in the
//! environment. The driver's files close on the way, which ends the kernel.

use std::env;
use std::os::unix::process::CommandExt;

use anyhow::{Context, Result};

use warpsmith_console::global::Global;

/// Names, one to a line.
const GIVEN_UP: &str = "WARPSMITH_GIVEN_UP";

/// What this run has given up before it restarted.
pub(super) fn given_up() -> Vec<String> {
    let names = env::var(GIVEN_UP).unwrap_or_default();
    names.lines().map(str::to_owned).collect()
}

/// Restarts without `name`; returns only where that fails.
pub(super) fn restart_without(global: &Global, name: &str) -> Result<()> {
    let mut names = given_up();
    names.push(name.to_owned());
    let program = global.host.command();
    let error = program
        .context("cannot find this program to restart it")?
        .args(&global.words)
        .env(GIVEN_UP, names.join("\n"))
        .exec();
    Err(error).context("cannot restart after a kernel that did not finish")
}
