//! `cargo xtask docs`: the pages of `docs/` that follow from the program and from measurements, and
//! the site that is made of all of them.

mod gpu_sessions;
mod links;
#[path = "../../../crates/cli/tests/trials/session/page.rs"]
#[allow(dead_code, reason = "the tests of the pages use the rest")]
mod page;
mod site;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;

use crate::python;
use crate::workspace::run;

#[derive(Args)]
pub(crate) struct Docs {
    /// Build the searchable site from the pages as they are, into `target/site/pages`.
    #[arg(long)]
    site: bool,
    /// Ask whether the addresses of the pages and of the findings' stories answer; needs a network.
    #[arg(long)]
    links: bool,
    /// Write a folder with a script that runs the examples which need a GPU.
    #[arg(long, value_name = "FOLDER")]
    gpu_script: Option<PathBuf>,
    /// Show on the pages what that script's run on a GPU has left in the folder.
    #[arg(long, value_name = "FOLDER")]
    gpu_output: Option<PathBuf>,
    /// Write `docs/benchmarks/parity.md` from what `warpsmith verify --all --format json` printed on a GPU.
    #[arg(long, value_name = "FILE")]
    parity: Option<PathBuf>,
    /// Write `docs/benchmarks/report.md` from the `report.json` of `warpsmith report`.
    #[arg(long, value_name = "FILE")]
    performance: Option<PathBuf>,
    /// Leave out the Python reference, which needs the wheel to be built.
    #[arg(long)]
    no_python: bool,
}

impl Docs {
    pub(crate) fn run(&self) -> Result<()> {
        if let Some(folder) = &self.gpu_script {
            return gpu_sessions::write_script(folder);
        }
        if let Some(folder) = &self.gpu_output {
            return gpu_sessions::show_output(folder);
        }
        if self.links {
            return links::check();
        }
        if self.site {
            return site::build();
        }
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
