//! The wheel: built from the same build folder as everything else, installed into environments of
//! its own, and tested there as its users would use it.

use std::path::Path;
use std::{env, fs};

use anyhow::{Context, Result};

use crate::workspace::{self, run};

/// Builds, installs and tests the wheel; in full also beside Ray, and installed from the sources as
/// `pip install .` does.
pub(crate) fn test(full: bool) -> Result<()> {
    let python = environment()?;
    if full {
        install_ray(&python);
    }
    install_wheel(&python)?;
    test_installed(&python)?;
    if !full {
        return Ok(());
    }
    let python = source_environment()?;
    // The environment's maturin, and the profile of the tests: nothing is fetched or compiled twice.
    // Without isolation the build looks for `maturin` on the path.
    let binaries = text(&workspace::target().join("python-source/bin"))?;
    let path = env::var("PATH").unwrap_or_default();
    run(
        "env",
        &[
            &format!("PATH={binaries}:{path}"),
            &python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--no-build-isolation",
            "--force-reinstall",
            "--config-settings=build-args=--profile=dev",
            ".",
        ],
    )?;
    test_installed(&python)
}

/// Tests and documentation examples against what is installed, from where the wheel put it.
fn test_installed(python: &str) -> Result<()> {
    run(python, &["-m", "pytest", "--quiet", "-rs", "python/tests"])?;
    run(
        python,
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

/// The environment for the wheel; its interpreter.
pub(crate) fn environment() -> Result<String> {
    make_environment("python")
}

/// The environment for an installation from the sources; its interpreter.
fn source_environment() -> Result<String> {
    make_environment("python-source")
}

fn make_environment(name: &str) -> Result<String> {
    let environment = workspace::target().join(name);
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
                "mypy",
                "numpy",
                "pytest",
            ],
        )?;
    }
    Ok(python)
}

/// Not every Python has it; the test that needs it says that it is skipped.
fn install_ray(python: &str) {
    if let Err(error) = run(python, &["-m", "pip", "install", "--quiet", "ray>=2,<3"]) {
        eprintln!("skipped: tests that need `ray`: {error:#}");
    }
}

/// Builds a wheel and installs it.
pub(crate) fn install_wheel(python: &str) -> Result<()> {
    let wheels = workspace::target().join("wheel-test");
    let _ = fs::remove_dir_all(&wheels);
    // The profile of the tests, so that nothing is compiled twice.
    run(
        python,
        &[
            "-m",
            "maturin",
            "build",
            "--profile",
            "dev",
            "--interpreter",
            python,
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
    run(python, &[&install[..], &[&text(&wheel)?]].concat())
}

fn text(path: &Path) -> Result<String> {
    let text = path.to_str().context("the checkout's path is not UTF-8")?;
    Ok(text.to_owned())
}
