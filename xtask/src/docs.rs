//! `cargo xtask docs`: the pages of `docs/` that follow from the program and from measurements.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;

use crate::python;
use crate::workspace::run;

#[derive(Args)]
pub(crate) struct Docs {
    /// Write `docs/parity.md` from what `warpsmith verify --all --format json` printed on a GPU.
    #[arg(long, value_name = "FILE")]
    parity: Option<PathBuf>,
    /// Write `docs/performance.md` from the `report.json` of `warpsmith report`.
    #[arg(long, value_name = "FILE")]
    performance: Option<PathBuf>,
    /// Leave out the Python reference, which needs the wheel to be built.
    #[arg(long)]
    no_python: bool,
}

impl Docs {
    pub(crate) fn run(&self) -> Result<()> {
        let program = ["run", "--quiet", "--package", "warpsmith", "--"];
        let mut arguments = [&program[..], &["manual", "--reference", "docs"]].concat();
        for (option, file) in [
            ("--parity", &self.parity),
            ("--performance", &self.performance),
        ] {
            if let Some(file) = file {
                let file = file.to_str().context("the file's name is not UTF-8")?;
                arguments.extend([option, file]);
            }
        }
        run("cargo", &arguments)?;
        if self.no_python {
            return Ok(());
        }
        let python = python::environment()?;
        python::install_wheel(&python)?;
        run(
            &python,
            &["python/tests/reference_page.py", "docs/reference/python.md"],
        )
    }
}
