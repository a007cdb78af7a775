//! `cargo xtask compat`: the rows of the doctor's compatibility database that packages can prove, held
//! against the package index.

use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::workspace;

#[derive(Args)]
pub(crate) struct Compat {
    /// Put what the packages say into the database.
    #[arg(long)]
    write: bool,
    /// Only these tables, for example `torch` or `cupy`.
    #[arg(long = "table", value_name = "NAME")]
    tables: Vec<String>,
}

impl Compat {
    pub(crate) fn run(&self) -> Result<()> {
        let root = workspace::root();
        let mut command = Command::new("python3");
        command
            .arg(root.join("xtask/compat/regenerate.py"))
            .arg(root.join("crates/compatibility/data/compat.json"));
        if self.write {
            command.arg("--write");
        }
        for table in &self.tables {
            command.args(["--table", table]);
        }
        let status = command.status().context("cannot start `python3`")?;
        match status.code() {
            Some(0) => Ok(()),
            Some(1) if self.write => Ok(()),
            Some(1) => {
                bail!("rows differ from the packages: `cargo xtask compat --write` takes them over")
            }
            _ => bail!("the database could not be compared"),
        }
    }
}
