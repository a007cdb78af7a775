//! `cargo xtask fuzz`: mutated inputs for every parser of foreign bytes.
//!
//! Each target runs in a process of its own with bounded memory. An input that makes it panic, abort,
//! hang or run out of memory is kept in `fuzz/failures`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use sha2::{Digest, Sha256};

use crate::workspace::{self, run};

/// Memory of a target in KiB: parsers of files of at most 96 KiB need a fraction of it.
const MEMORY_KIB: u32 = 4 << 20;

/// Gives every parser of foreign bytes mutated inputs.
#[derive(Args)]
pub(crate) struct Fuzz {
    /// Seconds for each target.
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Fuzz this target only.
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
    /// Number that decides on the mutations; the same number gives the same inputs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run one saved input of `--target` again.
    #[arg(long, value_name = "FILE", requires = "target")]
    replay: Option<PathBuf>,
}

impl Fuzz {
    /// Five seconds for every target.
    pub(crate) fn briefly() -> Self {
        Self {
            seconds: 5,
            target: None,
            seed: 1,
            replay: None,
        }
    }

    /// Runs the targets one after another; fails after the last if one of them failed.
    pub(crate) fn run(&self) -> Result<()> {
        run("cargo", &["build", "--quiet", "-p", "warpsmith-fuzz"])?;
        let program = program()?;
        if let (Some(target), Some(file)) = (&self.target, &self.replay) {
            let file = file.display().to_string();
            let status = bounded(&program)
                .args([target, "--replay", &file])
                .status()?;
            ensure!(status.success(), "`{target}` fails with `{file}`: {status}");
            return Ok(());
        }
        let known = workspace::output(&program, &["--list"])?;
        let targets: Vec<&str> = match &self.target {
            Some(target) => vec![target],
            None => known.lines().collect(),
        };
        let mut failed = Vec::new();
        for target in targets {
            ensure!(
                known.lines().any(|name| name == target),
                "there is no target `{target}`; there are:\n{known}"
            );
            if !self.fuzz(&program, target)? {
                failed.push(target);
            }
        }
        ensure!(failed.is_empty(), "failures in {}", failed.join(", "));
        Ok(())
    }

    /// Whether a target survives its inputs; saves the one that it does not survive.
    fn fuzz(&self, program: &Path, target: &str) -> Result<bool> {
        let folder = workspace::root().join("fuzz");
        // In memory where there is such a folder: the file is written before every input.
        let memory = Path::new("/dev/shm");
        let scratch = if memory.is_dir() {
            tempfile::tempdir_in(memory)
        } else {
            tempfile::tempdir()
        };
        let scratch = scratch.context("cannot make a temporary folder")?;
        let current = scratch.path().join("input");
        let status = bounded(program)
            .arg(target)
            .args(["--seconds", &self.seconds.to_string()])
            .args(["--seed", &self.seed.to_string()])
            .arg("--corpus")
            .arg(seeds(target))
            .arg("--current")
            .arg(&current)
            .status()
            .with_context(|| format!("cannot start `{}`", program.display()))?;
        if status.success() {
            return Ok(true);
        }
        let Ok(input) = fs::read(&current) else {
            bail!("`{target}` ended before its first input: {status}");
        };
        let failures = folder.join("failures");
        fs::create_dir_all(&failures).context("cannot make `fuzz/failures`")?;
        let hash = Sha256::digest(&input);
        let name: String = hash
            .iter()
            .take(6)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let saved = failures.join(format!("{target}-{name}"));
        fs::write(&saved, input).context("cannot save the input")?;
        eprintln!(
            "{target}: {status}; replay with\n    cargo xtask fuzz --target {target} --replay {}",
            saved.display()
        );
        Ok(false)
    }
}

/// The folder of a target's seeds: the compiler's own kernels where they will do.
fn seeds(target: &str) -> PathBuf {
    workspace::root().join(match target {
        "python" => "crates/compiler/tests/kernels".to_owned(),
        target => format!("fuzz/corpus/{target}"),
    })
}

/// The program, where `cargo build` puts it.
fn program() -> Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(workspace::target, PathBuf::from);
    let program = target.join("debug/warpsmith-fuzz");
    ensure!(program.is_file(), "`{}` is missing", program.display());
    Ok(program)
}

/// A command whose memory is bounded: an allocation beyond it fails, which ends the process.
fn bounded(program: &Path) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("ulimit -v {MEMORY_KIB}; exec \"$0\" \"$@\"")])
        .arg(program);
    command
}
