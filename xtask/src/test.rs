//! `cargo xtask test`: all set-up and the tests that everybody runs; with `--full` also what takes
//! long or compares with other programs. CI runs this and nothing else.

use std::process::{Command, Stdio};

use anyhow::Result;
use clap::Args;

use crate::fuzz::Fuzz;
use crate::workspace::{run, run_with};
use crate::{axe, kernels, oracles, packages, python, schemas, wheels};

#[derive(Args)]
pub(crate) struct Test {
    /// Also recompile the kernels, compare with Warp, librosa and friends, `datasets`, Ray and
    /// Prometheus, install from the sources, repeat the slow statistics, and fuzz every parser.
    #[arg(long)]
    full: bool,
}

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
        packages::install(self.full);
        if self.full {
            oracles::install();
            kernels::check()?;
        } else {
            kernels::check_hashes()?;
        }
        // Tests of NVRTC use the oldest and the newest that we support.
        wheels::wheel("nvidia-cuda-nvrtc-cu12", "12.0.140")?;
        wheels::wheel("nvidia-cuda-nvrtc-cu12", "12.9.86")?;
        // Examples of the documentation with a NumPy reference use it, before the wheel does.
        python::environment()?;
        if let Err(error) = schemas::sarif() {
            eprintln!("ignored: audit reports against the SARIF schema: {error:#}");
        }
        if let Err(error) = axe::install() {
            eprintln!("ignored: the report's page against axe: {error:#}");
        }
        if let Err(error) = wheels::wheel("pypdf", "5.9.0") {
            eprintln!("ignored: the words of the printed report: {error:#}");
        }
        // Trials that need the full set-up read it.
        let full = [("WARPSMITH_FULL", if self.full { "1" } else { "0" })];
        // One build for the libraries, the programs and the tests. Not `--bins` before: without the
        // tests, dependencies have other features, and everything would be compiled twice.
        run_with("cargo", &["test", "--workspace", "--no-fail-fast"], &full)?;
        if self.full {
            // Not of every program: a trial that is ignored because it cannot run would fail.
            run(
                "cargo",
                &[
                    "test",
                    "--workspace",
                    "--lib",
                    "--test",
                    "integration",
                    "--no-fail-fast",
                    "--",
                    "--ignored",
                ],
            )?;
        }
        if self.full {
            Fuzz::briefly().run()?;
        }
        python::test(self.full)
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
