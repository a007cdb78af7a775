//! The program and the wheel, linked for an old glibc by zig.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::GLIBC;
use crate::workspace::{self, run, run_with};

/// What builds: pinned by major version, unpacked from PyPI into an environment of their own.
const TOOLS: &[&str] = &["cargo-zigbuild>=0.20,<1", "maturin>=1.9,<2", "ziglang"];

/// The target that this machine builds for.
pub(super) fn target() -> &'static str {
    match std::env::consts::ARCH {
        "aarch64" => "aarch64-unknown-linux-gnu",
        _ => "x86_64-unknown-linux-gnu",
    }
}

/// An environment with the tools; its folder of programs.
fn tools() -> Result<PathBuf> {
    let folder = workspace::target().join("dist-tools");
    let programs = folder.join("bin");
    if !programs.join("cargo-zigbuild").is_file() {
        run("python3", &["-m", "venv", text(&folder)?])?;
        let python = programs.join("python");
        let install = ["-m", "pip", "install", "--quiet"];
        run(text(&python)?, &[&install[..], TOOLS].concat())?;
    }
    Ok(programs)
}

/// Builds the program that releases hold.
pub(super) fn program() -> Result<PathBuf> {
    let with_glibc = format!("{}.{}.{}", target(), GLIBC.0, GLIBC.1);
    with_tools(
        "cargo",
        &[
            "zigbuild",
            "--profile",
            "dist",
            "--locked",
            "--package",
            "warpsmith",
            "--target",
            &with_glibc,
        ],
    )?;
    Ok(workspace::target().join(format!("{}/dist/warpsmith", target())))
}

/// Builds the wheel into `folder`.
pub(super) fn wheel(folder: &Path) -> Result<PathBuf> {
    let built = workspace::target().join("dist-wheel");
    let _ = fs::remove_dir_all(&built);
    let compatibility = format!("manylinux_{}_{}", GLIBC.0, GLIBC.1);
    with_tools(
        "maturin",
        &[
            "build",
            "--zig",
            "--profile",
            "dist",
            "--locked",
            "--target",
            target(),
            "--compatibility",
            &compatibility,
            "--out",
            text(&built)?,
        ],
    )?;
    let wheel = fs::read_dir(&built)?
        .next()
        .context("maturin built no wheel")??;
    let place = folder.join(wheel.file_name());
    fs::copy(wheel.path(), &place)?;
    Ok(place)
}

fn with_tools(program: &str, arguments: &[&str]) -> Result<()> {
    let programs = tools()?;
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", programs.display());
    run_with(program, arguments, &[("PATH", &path)])
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("the checkout's path is not UTF-8")
}
