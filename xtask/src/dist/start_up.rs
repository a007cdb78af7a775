//! How long the program takes to start, measured by itself.

use std::path::Path;

use anyhow::{Context, Result};

use crate::workspace;

/// Prints the time of `warpsmith --version` with its interval and its count.
pub(super) fn measure(program: &Path) -> Result<()> {
    let own = program
        .to_str()
        .context("the program's path is not UTF-8")?;
    let said = workspace::output(
        program,
        &["run", "--quiet", "--budget", "5s", "--", own, "--version"],
    )?;
    println!("start-up, `warpsmith run -- warpsmith --version`:\n{said}");
    Ok(())
}
