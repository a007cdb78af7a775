//! Pinned wheels from PyPI, unpacked once under `target/wheels`. CUDA's compilers come this way:
//! they run without a GPU, and nothing is installed into the developer's Python.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};

use crate::workspace;

/// The folder of `package==version`, installed by the first call.
pub(crate) fn wheel(package: &str, version: &str) -> Result<PathBuf> {
    // Kernels are compiled side by side, and all begin by wanting the same compiler.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
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
    put(&place, &folder)?;
    Ok(folder)
}

/// Renames what was installed, unless another process was first.
fn put(place: &Path, folder: &Path) -> Result<()> {
    match fs::rename(place, folder) {
        Err(_) if folder.is_dir() => Ok(()),
        renamed => {
            renamed.with_context(|| format!("cannot rename the wheel to `{}`", folder.display()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_of_two_processes_takes_what_the_first_installed() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("package-1");
        for name in ["first", "second"] {
            let place = root.path().join(name);
            fs::create_dir(&place).unwrap();
            fs::write(place.join("file"), name).unwrap();
            put(&place, &folder).unwrap();
        }
        assert_eq!(fs::read_to_string(folder.join("file")).unwrap(), "first");
        assert!(put(&root.path().join("none"), &root.path().join("other")).is_err());
    }
}
