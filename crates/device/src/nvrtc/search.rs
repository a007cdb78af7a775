//! Where NVRTC may be: a path that the user names, the active Python environment, the toolkit, the
//! system's own search path; in this order, so that what is nearest to the user wins.

use std::fs;
use std::path::{Path, PathBuf};

use crate::installed::{python_sites, toolkit_roots};

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
        let names: Vec<_> = libraries_in(&folder)
            .iter()
            .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        assert_eq!(names, ["libnvrtc.so.13", "libnvrtc.so.12"]);
    }
}
