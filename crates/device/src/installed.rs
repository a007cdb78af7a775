//! Where things of CUDA are installed: with Python packages, or in a toolkit.
//!
//! Python is never started: its folders are recognised by their shape.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders of Python packages: of the active environment, of each Python on the path, and of the user.
pub fn python_sites() -> Vec<PathBuf> {
    let mut prefixes: Vec<PathBuf> = ["VIRTUAL_ENV", "CONDA_PREFIX"]
        .iter()
        .filter_map(|name| env::var_os(name).map(PathBuf::from))
        .collect();
    let on_path = env::var_os("PATH").unwrap_or_default();
    for folder in env::split_paths(&on_path) {
        let python = folder.join(if cfg!(windows) {
            "python.exe"
        } else {
            "python3"
        });
        if python.exists() {
            // A virtual environment's own folder comes before that of the Python it links to.
            prefixes.extend(folder.parent().map(Path::to_owned));
            let real = fs::canonicalize(&python).ok();
            prefixes.extend(real.and_then(|real| Some(real.parent()?.parent()?.to_owned())));
        }
    }
    if let Some(home) = env::var_os("HOME") {
        prefixes.push(Path::new(&home).join(".local"));
    }
    prefixes
        .iter()
        .flat_map(|prefix| sites_under(prefix))
        .collect()
}

/// `lib/python3.X/site-packages` and Debian's `dist-packages` under a prefix.
fn sites_under(prefix: &Path) -> Vec<PathBuf> {
    let mut sites = Vec::new();
    for library in ["lib", "lib64"] {
        let Ok(entries) = fs::read_dir(prefix.join(library)) else {
            continue;
        };
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with("python3") {
                sites.push(entry.path().join("site-packages"));
                sites.push(entry.path().join("dist-packages"));
            }
        }
    }
    sites.push(prefix.join("Lib/site-packages"));
    sites.retain(|site| site.is_dir());
    sites
}

/// Folders that may hold a CUDA toolkit, in the order of preference.
pub fn toolkit_roots() -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"]
        .iter()
        .filter_map(|name| env::var_os(name).map(PathBuf::from))
        .collect();
    roots.push("/usr/local/cuda".into());
    if let Ok(entries) = fs::read_dir("/usr/local") {
        let mut versions: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| {
                path.file_name()
                    .is_some_and(|name| name.to_string_lossy().starts_with("cuda-"))
            })
            .collect();
        versions.sort();
        versions.reverse();
        roots.extend(versions);
    }
    roots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_lie_in_folders_of_a_known_shape() {
        let root = tempfile::tempdir().unwrap();
        let site = root.path().join("lib/python3.11/site-packages");
        fs::create_dir_all(&site).unwrap();
        fs::create_dir_all(root.path().join("lib/perl5/site-packages")).unwrap();
        assert_eq!(sites_under(root.path()), [site]);
    }
}
