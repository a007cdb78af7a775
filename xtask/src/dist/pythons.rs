//! The wheel in a fresh environment of every Python that is found here, as its users install it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::workspace::{self, output};

/// The minor versions of Python 3 that the wheel promises.
const MINORS: std::ops::RangeInclusive<u32> = 9..=13;

/// Installs and runs the wheel with each Python that is here; returns what could not be tested.
pub(super) fn prove(wheel: &Path) -> Result<Vec<String>> {
    let mut skipped = Vec::new();
    for minor in MINORS {
        match find(minor) {
            Some(python) => prove_with(&python, minor, wheel)?,
            None => skipped.push(format!(
                "the wheel with Python 3.{minor}, which is not here"
            )),
        }
    }
    if skipped.len() == MINORS.count() {
        bail!("no Python from 3.9 to 3.13 is here, so that the wheel was not tested");
    }
    Ok(skipped)
}

fn prove_with(python: &Path, minor: u32, wheel: &Path) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let environment = folder.path().join("environment");
    let path = |path: &Path| path.to_str().map(str::to_owned).context("not UTF-8");
    let nothing = Instant::now();
    output(python, &["-m", "venv", &path(&environment)?])?;
    let own = environment.join("bin/python");
    let begun = Instant::now();
    let install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ];
    output(&own, &[&install[..], &[&path(wheel)?]].concat())?;
    let installed = begun.elapsed().as_secs_f64();
    let program = environment.join("bin/warpsmith");
    let expected = format!("warpsmith {}", env!("CARGO_PKG_VERSION"));
    for (command, words) in [
        (&program, &["--version"][..]),
        (&own, &["-m", "warpsmith", "--version"]),
    ] {
        let said = output(command, words)?;
        if said.trim() != expected {
            bail!(
                "Python 3.{minor}: `{}` said `{}`",
                command.display(),
                said.trim()
            );
        }
    }
    output(
        &own,
        &[
            "-c",
            "import warpsmith; assert warpsmith.check() is not None",
        ],
    )?;
    let report = path(&folder.path().join("report"))?;
    let begun = Instant::now();
    output(
        &program,
        &["--quiet", "report", "--device", "cpu", "--output", &report],
    )?;
    println!(
        "Python 3.{minor}: installed in {installed:.1} s, report in {:.1} s, from nothing to it {:.1} s",
        begun.elapsed().as_secs_f64(),
        nothing.elapsed().as_secs_f64()
    );
    Ok(())
}

/// A Python of this version: on the path, or one of pyenv's or uv's.
fn find(minor: u32) -> Option<PathBuf> {
    let name = format!("python3.{minor}");
    let home = std::env::var_os("HOME")
        .map(PathBuf::from)
        .unwrap_or_default();
    let below = |folder: PathBuf, prefix: String| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let named =
            entries.filter(move |entry| entry.file_name().to_string_lossy().starts_with(&prefix));
        named.map(|entry| entry.path().join("bin/python3"))
    };
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let candidates = below(home.join(".pyenv/versions"), format!("3.{minor}."))
        .chain(below(
            home.join(".local/share/uv/python"),
            format!("cpython-3.{minor}."),
        ))
        .chain(std::env::split_paths(&on_path).map(|folder| folder.join(&name)))
        .collect::<Vec<_>>();
    // pyenv leaves scripts on the path for versions that it does not have.
    candidates.into_iter().find(|python| {
        let line = format!("import sys, venv, ensurepip; assert sys.version_info[1] == {minor}");
        let ran = Command::new(python).args(["-c", &line]).output();
        ran.is_ok_and(|ran| ran.status.success())
    })
}

/// The wheel's native module, unpacked in memory.
pub(super) fn native_module(wheel: &Path) -> Result<Vec<u8>> {
    let folder = tempfile::tempdir()?;
    let text = |path: &Path| path.to_str().map(str::to_owned).context("not UTF-8");
    let unpack = ["-m", "zipfile", "-e", &text(wheel)?, &text(folder.path())?];
    workspace::output(Path::new("python3"), &unpack)?;
    let entries = fs::read_dir(folder.path().join("warpsmith"))?;
    let mut modules = entries.flatten().map(|entry| entry.path());
    let module = modules.find(|path| path.extension().is_some_and(|ending| ending == "so"));
    Ok(fs::read(module.context("the wheel has no native module")?)?)
}
