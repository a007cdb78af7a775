//! `cargo xtask precision`: how often the audit is right on projects that nobody tuned it on.

use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::workspace;

#[derive(Args)]
pub(crate) struct Precision {
    /// `sample`, `judge` or `report` with their options; `--help` behind `--` tells them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    arguments: Vec<String>,
}

impl Precision {
    pub(crate) fn run(&self) -> Result<()> {
        let status = Command::new("python3")
            .arg(workspace::root().join("xtask/precision/precision.py"))
            .args(&self.arguments)
            .status()
            .context("cannot start `python3`")?;
        if !status.success() {
            bail!("`precision {}` failed", self.arguments.join(" "));
        }
        Ok(())
    }
}
