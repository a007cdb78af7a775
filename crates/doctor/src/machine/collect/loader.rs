//! What the dynamic loader would find: LD_LIBRARY_PATH, the cache, cuDNN and NVRTC directories.

use super::driver::LIBRARY_DIRECTORIES;
use super::parse_ld_cache;
use crate::host::Host;
use crate::machine::facts::{CudnnDirectory, Loader, MachineFacts, NvrtcDirectory, PathEntry};

const STEMS: [&str; 12] = [
    "libcuda.so",
    "libcudart",
    "libcublas",
    "libcudnn",
    "libnvJitLink",
    "libcusparse",
    "libcufft",
    "libnvrtc",
    "libnccl",
    "libcupti",
    "libcusolver",
    "libcurand",
];

pub(super) fn is_cuda_library(name: &str) -> bool {
    STEMS.iter().any(|stem| name.starts_with(stem)) && name.contains(".so")
}

pub(super) fn collect(host: &dyn Host) -> Loader {
    let path = host
        .session()
        .env
        .get("LD_LIBRARY_PATH")
        .cloned()
        .unwrap_or_default();
    let path_entries = path
        .split(':')
        .filter(|directory| directory.starts_with('/'))
        .map(|directory| {
            let names = host.list(directory);
            PathEntry {
                directory: directory.to_owned(),
                exists: names.is_some(),
                libraries: names
                    .unwrap_or_default()
                    .into_iter()
                    .filter(|name| is_cuda_library(name))
                    .collect(),
            }
        })
        .collect();
    let cache = host
        .read("/etc/ld.so.cache")
        .and_then(|bytes| parse_ld_cache(&bytes, is_cuda_library));
    let in_cache = cache.as_ref().and_then(|entries| {
        entries
            .iter()
            .find(|(name, _)| name.starts_with("libcuda.so"))
            .map(|(_, path)| path.clone())
    });
    let mut loader = Loader {
        libcuda: in_cache.or_else(|| {
            LIBRARY_DIRECTORIES.iter().find_map(|directory| {
                let names = host.list(directory)?;
                let name = names.iter().find(|name| name.starts_with("libcuda.so."))?;
                Some(format!("{directory}/{name}"))
            })
        }),
        path_entries,
        cache,
        ..Loader::default()
    };
    let system = LIBRARY_DIRECTORIES.iter().map(|d| (*d).to_owned());
    let from_path: Vec<_> = loader
        .path_entries
        .iter()
        .map(|e| e.directory.clone())
        .collect();
    for directory in system.chain(from_path) {
        add_directory(host, &mut loader, &directory);
    }
    loader
}

/// The wheels' own library directories: `site-packages/nvidia/*/lib`.
pub(super) fn add_environment_libraries(host: &dyn Host, facts: &mut MachineFacts) {
    let directories: Vec<String> = facts
        .environments
        .iter()
        .flat_map(|environment| &environment.nvidia_libraries)
        .filter_map(|path| {
            path.rsplit_once('/')
                .map(|(directory, _)| directory.to_owned())
        })
        .collect();
    for directory in directories {
        add_directory(host, &mut facts.loader, &directory);
    }
}

fn add_directory(host: &dyn Host, loader: &mut Loader, directory: &str) {
    if loader
        .cudnn_directories
        .iter()
        .any(|d| d.directory == directory)
        || loader
            .nvrtc_directories
            .iter()
            .any(|d| d.directory == directory)
    {
        return;
    }
    let names = host.list(directory).unwrap_or_default();
    let with = |stem: &str| -> Vec<String> {
        names
            .iter()
            .filter(|name| name.starts_with(stem) && name.contains(".so."))
            .cloned()
            .collect()
    };
    let cudnn = with("libcudnn");
    if !cudnn.is_empty() {
        loader.cudnn_directories.push(CudnnDirectory {
            directory: directory.to_owned(),
            files: cudnn,
        });
    }
    let (nvrtc, builtins) = (with("libnvrtc.so"), with("libnvrtc-builtins"));
    if !nvrtc.is_empty() {
        loader.nvrtc_directories.push(NvrtcDirectory {
            directory: directory.to_owned(),
            nvrtc,
            builtins,
        });
    }
}
