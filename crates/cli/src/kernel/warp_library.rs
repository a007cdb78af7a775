//! The functions that Warp's own library writes in Python: its file for texts, ours for running kernels.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Args;
use warpsmith_compiler::RUNTIME_LIBRARY;

/// Names the file for every run.
const VARIABLE: &str = "WARPSMITH_WARP_LIBRARY";

/// The version whose text is known, as its folder of metadata is called.
const INSTALLED: &str = "warp_lang-1.19.0.dist-info";

/// Where Warp's own Python functions are.
#[derive(Args, Default)]
pub(crate) struct WarpLibrary {
    /// `warp/_src/math.py` of an installed warp-lang 1.19.0.
    ///
    /// For kernels that call functions which Warp
    /// writes in Python (`wp.transform_compose`, `wp.quat_from_euler`…), whose text Warp's own text quotes.
    /// Default: `$WARPSMITH_WARP_LIBRARY`, then the warp-lang 1.19.0 in a folder above what is compiled, of the
    /// virtual environment or of the first Python in `PATH`, which is not run. To run kernels, no file is needed.
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
}

impl WarpLibrary {
    /// The file's text, where one is named or installed; first where the packages of `project` are.
    pub(crate) fn text(&self, project: &Path) -> Result<Option<Arc<str>>> {
        if let Some(named) = self.named()? {
            return Ok(Some(named));
        }
        let found = installed_above(project)
            .or_else(|| prefixes().iter().find_map(|prefix| installed_in(prefix)));
        // What cannot be read is as good as not installed: nobody named it.
        Ok(found
            .and_then(|path| std::fs::read_to_string(path).ok())
            .map(Arc::from))
    }

    /// Functions that give Warp's numbers, of the file where one is named.
    pub(crate) fn for_running(&self) -> Result<Arc<str>> {
        Ok(self.named()?.unwrap_or_else(|| RUNTIME_LIBRARY.into()))
    }

    fn named(&self) -> Result<Option<Arc<str>>> {
        let named = self.library.clone();
        let Some(path) = named.or_else(|| std::env::var_os(VARIABLE).map(PathBuf::from)) else {
            return Ok(None);
        };
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read Warp's library `{}`", path.display()))?;
        Ok(Some(text.into()))
    }
}

/// Folders in which a Python keeps its packages: the active environment's, then those of `PATH`'s Python.
fn prefixes() -> Vec<PathBuf> {
    let environments = ["VIRTUAL_ENV", "CONDA_PREFIX"];
    let mut found: Vec<PathBuf> = environments
        .iter()
        .filter_map(|name| std::env::var_os(name).map(PathBuf::from))
        .collect();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let python = std::env::split_paths(&path).find(|folder| {
        let names = ["python3", "python", "python.exe"];
        names.iter().any(|name| folder.join(name).is_file())
    });
    if let Some(folder) = python {
        found.extend(folder.parent().map(Path::to_owned));
        found.push(folder);
    }
    found
}

/// The library's file in a folder of packages, if the version is the one known.
fn library_in(packages: &Path) -> Option<PathBuf> {
    let file = packages.join("warp/_src/math.py");
    (packages.join(INSTALLED).is_dir() && file.is_file()).then_some(file)
}

/// The library's file beside the package that a file or folder lies in.
fn installed_above(project: &Path) -> Option<PathBuf> {
    let whole = std::path::absolute(project).ok()?;
    whole.ancestors().find_map(library_in)
}

/// The library's file below a prefix, if the version is the one known.
fn installed_in(prefix: &Path) -> Option<PathBuf> {
    let mut folders = vec![prefix.join("Lib/site-packages")];
    for library in ["lib", "lib64", "local/lib"] {
        let Ok(entries) = std::fs::read_dir(prefix.join(library)) else {
            continue;
        };
        let mut versions: Vec<PathBuf> = entries
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                name.starts_with("python3")
            })
            .collect();
        versions.sort();
        for version in versions {
            folders.extend(["site-packages", "dist-packages"].map(|name| version.join(name)));
        }
    }
    folders.iter().find_map(|folder| library_in(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_known_version_is_found() {
        let prefix = tempfile::tempdir().unwrap();
        let packages = prefix.path().join("lib/python3.11/site-packages");
        let file = packages.join("warp/_src/math.py");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "").unwrap();
        std::fs::create_dir_all(packages.join("warp_lang-1.18.0.dist-info")).unwrap();
        assert_eq!(installed_in(prefix.path()), None);
        std::fs::create_dir_all(packages.join(INSTALLED)).unwrap();
        assert_eq!(installed_in(prefix.path()), Some(file.clone()));
        assert_eq!(
            installed_above(&packages.join("solver/kernels.py")),
            Some(file)
        );
        assert_eq!(installed_above(prefix.path()), None);
    }
}
