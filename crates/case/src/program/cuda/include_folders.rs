//! Where CUDA's own headers are.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders with CUDA's own headers (`cuda_fp16.h`, `cooperative_groups.h`) and those of its C++ library,
/// where they are installed.
pub(super) fn include_folders() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = ["CUDA_HOME", "CUDA_PATH"]
        .iter()
        .filter_map(|name| Some(PathBuf::from(env::var_os(name)?).join("include")))
        .collect();
    found.push("/usr/local/cuda/include".into());
    if let Some(prefix) = env::var_os("VIRTUAL_ENV").or_else(|| env::var_os("CONDA_PREFIX"))
        && let Ok(pythons) = fs::read_dir(Path::new(&prefix).join("lib"))
    {
        for python in pythons.flatten() {
            let site = python.path().join("site-packages/nvidia");
            found.extend(["cu13/include", "cuda_runtime/include"].map(|folder| site.join(folder)));
        }
    }
    complete(found)
}

/// The first folder that has the headers, and beside it what they include themselves.
fn complete(mut found: Vec<PathBuf>) -> Vec<PathBuf> {
    found.retain(|folder| folder.join("cuda_fp16.h").exists());
    found.truncate(1);
    if let Some(folder) = found.first().cloned() {
        // Its own folder in a toolkit from 13 on, a package of its own among wheels.
        let package = folder
            .ancestors()
            .nth(2)
            .map(|site| site.join("cuda_cccl/include"));
        let library = [Some(folder.join("cccl")), package, Some(folder.clone())];
        let target = library
            .into_iter()
            .flatten()
            .find(|one| one.join("nv/target").exists());
        found.extend(target.filter(|one| *one != folder));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_wheels_come_with_what_they_include() {
        let site = tempfile::tempdir().unwrap();
        let [runtime, parts] =
            ["cuda_runtime/include", "cuda_cccl/include"].map(|folder| site.path().join(folder));
        assert!(complete(vec![runtime.clone()]).is_empty());
        fs::create_dir_all(&runtime).unwrap();
        fs::write(runtime.join("cuda_fp16.h"), "").unwrap();
        assert_eq!(
            complete(vec![runtime.clone()]),
            *std::slice::from_ref(&runtime)
        );
        fs::create_dir_all(parts.join("nv")).unwrap();
        fs::write(parts.join("nv/target"), "").unwrap();
        assert_eq!(complete(vec![runtime.clone()]), [runtime, parts]);
    }
}
