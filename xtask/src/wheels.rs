//! Pinned wheels from PyPI, unpacked once under `target/wheels`. CUDA's compilers come this way:
//! they run without a GPU, and nothing is installed into the developer's Python.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::workspace;

/// The folder of `package==version`, installed by the first call.
pub(crate) fn wheel(package: &str, version: &str) -> Result<PathBuf> {
    let folder = workspace::target()
        .join("wheels")
        .join(format!("{package}-{version}"));
    if folder.is_dir() {
        return Ok(folder);
    }
    let parent = workspace::target().join("wheels");
    fs::create_dir_all(&parent)?;
    // Installed beside and renamed, so that a broken download leaves nothing that looks whole.
    let partial = tempfile::tempdir_in(&parent)?;
    let place = partial.path().join("site");
    workspace::run(
        "python3",
        &[
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--target",
            place.to_str().context("the checkout's path is not UTF-8")?,
            &format!("{package}=={version}"),
        ],
    )?;
    fs::rename(&place, &folder)
        .with_context(|| format!("cannot rename the wheel to `{}`", folder.display()))?;
    Ok(folder)
}
