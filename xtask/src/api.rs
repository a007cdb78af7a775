//! `cargo xtask api`: the table of CUDA's functions that the doctor embeds, from the headers inside
//! the wheels on the package index.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::workspace;

#[derive(Args)]
pub(crate) struct Api {
    /// Folder that keeps the headers between runs.
    #[arg(long, value_name = "FOLDER", default_value = "target/api-headers")]
    cache: PathBuf,
    /// Print what changed and leave the table as it is.
    #[arg(long)]
    check: bool,
}

impl Api {
    pub(crate) fn run(&self) -> Result<()> {
        let root = workspace::root();
        let table = root.join("crates/doctor/data/api.txt");
        let fresh = root.join("target/api.txt");
        let status = Command::new("python3")
            .arg(root.join("xtask/api/api_tables.py"))
            .arg("--fetch")
            .arg(root.join(&self.cache))
            .arg("--table")
            .arg(&fresh)
            .status()
            .context("cannot start `python3`")?;
        if !status.success() {
            bail!("the headers could not be read");
        }
        let read = |path| std::fs::read_to_string(path).context("cannot read the table");
        let (old, new) = (read(&table)?, read(&fresh)?);
        if old == new {
            println!("crates/doctor/data/api.txt is current");
        } else if self.check {
            bail!("crates/doctor/data/api.txt differs from the headers: run `cargo xtask api`");
        } else {
            std::fs::copy(&fresh, &table).context("cannot write the table")?;
            println!("crates/doctor/data/api.txt is rewritten");
        }
        Ok(())
    }
}
