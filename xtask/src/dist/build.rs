//! The program and the wheel, linked for an old glibc by zig.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::GLIBC;
use crate::workspace::{self, run, run_with};

/// What builds: pinned exactly, unpacked from PyPI into an environment of their own.
const TOOLS: &[&str] = &[
    "cargo-zigbuild==0.24.0",
    "maturin==1.16.0",
    "ziglang==0.17.0",
];

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
    // With the wheel's module: on its own the program would have its dependencies with fewer features,
    // and all of them would be compiled a second time for the wheel.
    let packages = ["--package", "warpsmith", "--package", "warpsmith-python"];
    under_zig(
        &[&["--profile", "dist", "--locked"], &packages[..]].concat(),
        None,
    )?;
    Ok(workspace::target().join(format!("{}/dist/warpsmith", target())))
}

/// Builds the wheel into `folder`.
pub(super) fn wheel(folder: &Path) -> Result<PathBuf> {
    let built = workspace::target().join("dist-wheel");
    let _ = fs::remove_dir_all(&built);
    let maturin = format!(
        "#!/bin/sh\nunset CARGO\nexec maturin build --compression-level 9 --profile dist --locked --target {} \
         --compatibility manylinux_{}_{} --out '{}'\n",
        target(),
        GLIBC.0,
        GLIBC.1,
        built.display()
    );
    under_zig(&[], Some(&maturin))?;
    let wheel = fs::read_dir(&built)?
        .next()
        .context("maturin built no wheel")??;
    let place = folder.join(wheel.file_name());
    fs::copy(wheel.path(), &place)?;
    Ok(place)
}

/// Runs cargo with zig as the compiler and linker of C, or a script in its place.
///
/// maturin can use zig by itself, under wrappers of its own name: build scripts would see another
/// compiler, and everything above them would be compiled a second time.
fn under_zig(arguments: &[&str], script: Option<&str>) -> Result<()> {
    let programs = tools()?;
    let cargo = match script {
        None => PathBuf::from("cargo"),
        Some(script) => {
            let place = programs.join("instead-of-cargo");
            fs::write(&place, script)?;
            fs::set_permissions(&place, fs::Permissions::from_mode(0o755))?;
            place
        }
    };
    let with_glibc = format!("{}.{}.{}", target(), GLIBC.0, GLIBC.1);
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", programs.display());
    run_with(
        text(&programs.join("cargo-zigbuild"))?,
        &[&["zigbuild", "--target", &with_glibc], arguments].concat(),
        &[("PATH", &path), ("CARGO", text(&cargo)?)],
    )
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("the checkout's path is not UTF-8")
}
