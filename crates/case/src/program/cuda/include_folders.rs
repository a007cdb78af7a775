//! Where CUDA's own headers are.

use std::path::{Path, PathBuf};

use warpsmith_device::{Nvrtc, python_sites, toolkit_roots};

/// Folders with CUDA's own headers (`cuda_fp16.h`, `cooperative_groups.h`) and those of its C++ library,
/// where they are installed; best those that came with the compiler.
pub(super) fn include_folders(nvrtc: &Nvrtc) -> Vec<PathBuf> {
    let mut found = beside(nvrtc.path());
    let toolkits = toolkit_roots().into_iter();
    found.extend(toolkits.map(|root| root.join("include")));
    for site in python_sites() {
        found.extend(WHEELS.map(|folder| site.join("nvidia").join(folder)));
    }
    complete(found)
}

/// Where wheels put the headers: those of CUDA 13 in one folder, those of CUDA 12 in one a package.
const WHEELS: [&str; 2] = ["cu13/include", "cuda_runtime/include"];

/// Packages of CUDA 12 with what its headers include themselves, and a file by which each is known.
const COMPANIONS: [(&str, &str); 4] = [
    ("cuda_cccl/include", "nv/target"),
    ("cuda_nvcc/include", "crt/mma.h"),
    ("nvtx/include", "nvtx3"),
    ("curand/include", "curand_kernel.h"),
];

/// Where the headers would be that were installed with a library.
fn beside(library: &Path) -> Vec<PathBuf> {
    // `lib64/libnvrtc.so` of a toolkit, `targets/x86_64-linux/lib/…`, `cu13/lib/…` and `cuda_nvrtc/lib/…` of wheels.
    let folders = library.ancestors().skip(2).take(2);
    folders
        .flat_map(|folder| [folder.join("include"), folder.join("cuda_runtime/include")])
        .collect()
}

/// The first folder that has the headers, and beside it what they include themselves.
fn complete(mut found: Vec<PathBuf>) -> Vec<PathBuf> {
    found.retain(|folder| folder.join("cuda_fp16.h").exists());
    found.truncate(1);
    let Some(folder) = found.first().cloned() else {
        return found;
    };
    // The C++ library has a folder of its own in a toolkit from 13 on.
    let inner = folder.join("cccl");
    found.extend(inner.join("nv/target").exists().then_some(inner));
    if let Some(site) = folder.ancestors().nth(2) {
        let packages = COMPANIONS.iter().filter_map(|(folder, file)| {
            let folder = site.join(folder);
            folder.join(file).exists().then_some(folder)
        });
        found.extend(packages);
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_compiler_has_its_own_headers_beside_it() {
        let has = |library: &str, folder: &str| {
            assert!(beside(Path::new(library)).contains(&PathBuf::from(folder)));
        };
        has("/cuda/lib64/libnvrtc.so.12", "/cuda/include");
        has(
            "/s/nvidia/cu13/lib/libnvrtc.so.13",
            "/s/nvidia/cu13/include",
        );
        let wheel = "/s/nvidia/cuda_nvrtc/lib/libnvrtc.so.12";
        has(wheel, "/s/nvidia/cuda_runtime/include");
        assert!(beside(Path::new("libnvrtc.so")).len() <= 4);
    }

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
        let matrices = site.path().join("cuda_nvcc/include");
        fs::create_dir_all(matrices.join("crt")).unwrap();
        fs::write(matrices.join("crt/mma.h"), "").unwrap();
        assert_eq!(complete(vec![runtime.clone()]), [runtime, parts, matrices]);
    }
}
