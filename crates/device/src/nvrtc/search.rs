//! Where NVRTC may be: a path that the user names, the active Python environment, the toolkit, the
//! system's own search path; in this order, so that what is nearest to the user wins.
//!
//! Python is never started: its folders are recognised by their shape.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Files that may be NVRTC, best first. The last ones are bare names for the system's loader.
pub(super) fn candidates() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for site in python_sites() {
        // Wheels for CUDA 13 share one folder; those for CUDA 12 have one per library.
        for folder in [
            "nvidia/cu13/lib",
            "nvidia/cuda_nvrtc/lib",
            "nvidia/cuda_nvrtc/bin",
        ] {
            found.extend(libraries_in(&site.join(folder)));
        }
    }
    for root in toolkit_roots() {
        for folder in ["lib64", "lib", "targets/x86_64-linux/lib", "bin"] {
            found.extend(libraries_in(&root.join(folder)));
        }
    }
    found.extend(["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"].map(PathBuf::from));
    found
}

/// NVRTC libraries in a folder, newest first; none where the folder is missing.
fn libraries_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let linux = name
                .strip_prefix("libnvrtc.so.")
                .is_some_and(|rest| matches!(rest.split('.').next(), Some("12" | "13")));
            linux || (name.starts_with("nvrtc64_") && name.ends_with(".dll"))
        })
        .collect();
    files.sort();
    files.reverse();
    files
}

pub(crate) fn python_sites() -> Vec<PathBuf> {
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

pub(crate) fn toolkit_roots() -> Vec<PathBuf> {
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
    fn wheels_of_both_generations_are_recognised_newest_first() {
        let root = tempfile::tempdir().unwrap();
        let site = root.path().join("lib/python3.11/site-packages");
        let folder = site.join("nvidia/cuda_nvrtc/lib");
        fs::create_dir_all(&folder).unwrap();
        for name in [
            "libnvrtc.so.12",
            "libnvrtc.so.13",
            "libnvrtc-builtins.so.12.9",
            "libnvrtc.so.11",
        ] {
            fs::write(folder.join(name), "").unwrap();
        }
        assert_eq!(sites_under(root.path()), [site]);
        let names: Vec<_> = libraries_in(&folder)
            .iter()
            .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        assert_eq!(names, ["libnvrtc.so.13", "libnvrtc.so.12"]);
    }
}
