//! `cargo xtask test`: all set-up and all tests. CI runs this and nothing else.

use std::process::{Command, Stdio};

use anyhow::Result;
use clap::Args;

use crate::workspace::run;
use crate::{kernels, oracles, packages, python, schemas, wheels};

#[derive(Args)]
pub(crate) struct Test {}

impl Test {
    pub(crate) fn run(&self) -> Result<()> {
        if installed("fmt") {
            run("cargo", &["fmt", "--all", "--check"])?;
        }
        if installed("clippy") {
            run(
                "cargo",
                &[
                    "clippy",
                    "--workspace",
                    "--all-targets",
                    "--quiet",
                    "--",
                    "-D",
                    "warnings",
                ],
            )?;
        }
        packages::install();
        oracles::install();
        kernels::check()?;
        // The tests of the compiler's text use the newest of the old NVRTCs beside the oldest.
        wheels::wheel("nvidia-cuda-nvrtc-cu12", "12.9.86")?;
        if let Err(error) = schemas::sarif() {
            eprintln!("skipped: audit reports against the SARIF schema: {error:#}");
        }
        // Tests of the program run the program itself.
        run("cargo", &["build", "--workspace", "--bins"])?;
        run("cargo", &["test", "--workspace", "--no-fail-fast"])?;
        python::test()
    }
}

/// Whether a component of the toolchain is there; a minimal toolchain lacks some.
fn installed(component: &str) -> bool {
    let there = Command::new("cargo")
        .args([component, "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !there {
        eprintln!(
            "skipped: `cargo {component}` is not installed (`rustup component add {component}`)"
        );
    }
    there
}
