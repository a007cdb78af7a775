//! `cargo xtask gpu`: the device layer's tests, the device timer against kernels of known length,
//! every parity check, memcheck and racecheck, in one command. `--bundle DIR` puts the programs and
//! a script into a folder instead, for a GPU machine without a Rust toolchain.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;

use crate::workspace;

#[derive(Args)]
pub(crate) struct Gpu {
    /// Write the programs and `run.sh` to this folder, and run nothing.
    #[arg(long, value_name = "DIR")]
    bundle: Option<PathBuf>,
}

/// Programs that exit with a failure where a GPU is missing or wrong.
const TESTS: &[(&str, &str)] = &[
    ("warpsmith-device", "gpu"),
    ("warpsmith-measure", "gpu_timer"),
];

const SCRIPT: &str = "#!/usr/bin/env bash
# Runs the device layer's tests, the timer's and every parity check; fails on the first disagreement.
set -euo pipefail
cd \"$(dirname \"$0\")\"
export WARPSMITH_REQUIRE_GPU=1
for test in ./test-*; do \"$test\"; done
./warpsmith verify --all
if command -v compute-sanitizer >/dev/null; then
  for tool in memcheck racecheck; do
    compute-sanitizer --tool \"$tool\" --error-exitcode 9 ./warpsmith verify --all --small
  done
else
  echo 'skipped: compute-sanitizer is not installed'
fi
";

impl Gpu {
    pub(crate) fn run(&self) -> Result<()> {
        let folder = self
            .bundle
            .clone()
            .unwrap_or_else(|| workspace::target().join("gpu"));
        fs::create_dir_all(&folder)?;
        for (name, path) in build()? {
            fs::copy(&path, folder.join(name))
                .with_context(|| format!("cannot copy `{}`", path.display()))?;
        }
        let script = folder.join("run.sh");
        fs::write(&script, SCRIPT)?;
        if self.bundle.is_some() {
            eprintln!("run `bash {}` on a machine with a GPU", script.display());
            return Ok(());
        }
        workspace::run("bash", &[script.to_str().context("the path is not UTF-8")?])
    }
}

/// Builds the program and the GPU tests; returns what each is called in the bundle and where it is.
fn build() -> Result<Vec<(String, PathBuf)>> {
    let mut built = vec![(
        "warpsmith".to_owned(),
        cargo(&["build", "--package", "warpsmith"])?,
    )];
    for (package, test) in TESTS {
        let path = cargo(&["test", "--no-run", "--package", package, "--test", test])?;
        built.push((format!("test-{package}-{test}"), path));
    }
    Ok(built)
}

/// Runs cargo in the release profile and returns the executable that it made.
fn cargo(arguments: &[&str]) -> Result<PathBuf> {
    let mut child = Command::new("cargo")
        .args(arguments)
        .args(["--release", "--message-format", "json-render-diagnostics"])
        .current_dir(workspace::root())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start `cargo`")?;
    let output = child.stdout.take().context("cargo has no output")?;
    let mut executable = None;
    for line in BufReader::new(output).lines() {
        let message: Value = serde_json::from_str(&line?)?;
        if let Some(path) = message["executable"].as_str() {
            executable = Some(PathBuf::from(path));
        }
    }
    if !child.wait()?.success() {
        bail!("`cargo {}` failed", arguments.join(" "));
    }
    executable.context("cargo made no executable")
}
