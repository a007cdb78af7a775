//! The wheel: built from the same build folder as everything else, installed into an environment of
//! its own, and tested there as its users would use it.

use std::fs;

use anyhow::{Context, Result};

use crate::workspace::{self, run};

/// Builds, installs and tests the wheel.
pub(crate) fn test() -> Result<()> {
    let environment = workspace::target().join("python");
    let text = |path: &std::path::Path| -> Result<String> {
        Ok(path
            .to_str()
            .context("the checkout's path is not UTF-8")?
            .to_owned())
    };
    let python = text(&environment.join("bin/python"))?;
    if !environment.join("bin/maturin").is_file() {
        run("python3", &["-m", "venv", &text(&environment)?])?;
        run(
            &python,
            &[
                "-m",
                "pip",
                "install",
                "--quiet",
                "maturin>=1.9,<2",
                "numpy",
                "pytest",
            ],
        )?;
    }
    let wheels = workspace::target().join("wheel-test");
    let _ = fs::remove_dir_all(&wheels);
    // The profile of the tests, so that nothing is compiled twice.
    run(
        &python,
        &[
            "-m",
            "maturin",
            "build",
            "--profile",
            "dev",
            "--interpreter",
            &python,
            "--out",
            &text(&wheels)?,
        ],
    )?;
    let wheel = fs::read_dir(&wheels)?
        .next()
        .context("maturin built no wheel")??
        .path();
    let install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--force-reinstall",
    ];
    run(&python, &[&install[..], &[&text(&wheel)?]].concat())?;
    run(&python, &["-m", "pytest", "--quiet", "python/tests"])?;
    // The examples in the documentation run too, from where the wheel put them.
    run(
        &python,
        &[
            "-m",
            "pytest",
            "--quiet",
            "--doctest-modules",
            "--pyargs",
            "warpsmith",
        ],
    )
}
