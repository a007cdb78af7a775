//! GPU code in the libraries of a Python environment.
//!
//! The walk goes four folders deep, which reaches every library that wheels install, and skips
//! folders that hold none. Files are opened in parallel and read by a few pages each.

use rayon::prelude::*;

use crate::host::Host;
use crate::machine::facts::GpuBinary;
use warpsmith_compatibility::Version;
use warpsmith_compatibility::{ElfFile, coverage_of_section};

/// Folders of packages that ship GPU code or need its libraries.
const PACKAGES: [&str; 22] = [
    "torch",
    "torchvision",
    "torchaudio",
    "cupy",
    "cupy_backends",
    "jaxlib",
    "jax_plugins",
    "jax_cuda12_plugin",
    "jax_cuda13_plugin",
    "tensorflow",
    "bitsandbytes",
    "flash_attn",
    "flash_attn_2_cuda",
    "xformers",
    "onnxruntime",
    "vllm",
    "nvidia",
    "triton",
    "spconv",
    "deepspeed",
    "apex",
    "flashinfer",
];
const FILE_LIMIT: usize = 4000;

pub(super) fn scan_environment(host: &dyn Host, site: &str, names: &[String]) -> Vec<GpuBinary> {
    let mut files = Vec::new();
    for name in names {
        let path = format!("{site}/{name}");
        if name.contains(".so") {
            files.push((name.clone(), path));
        } else if PACKAGES.contains(&name.as_str()) {
            gather(host, name, &path, 0, &mut files);
        }
    }
    files.truncate(FILE_LIMIT);
    files
        .par_iter()
        .filter_map(|(package, path)| inspect(host, package, path))
        .collect()
}

fn gather(
    host: &dyn Host,
    package: &str,
    directory: &str,
    depth: usize,
    files: &mut Vec<(String, String)>,
) {
    const BARREN: [&str; 12] = [
        "__pycache__",
        "include",
        "share",
        "testing",
        "_inductor",
        "distributed",
        "nn",
        "utils",
        "optim",
        "test",
        "fx",
        "_dynamo",
    ];
    if depth > 4 || files.len() > FILE_LIMIT {
        return;
    }
    for name in host.list(directory).unwrap_or_default() {
        let path = format!("{directory}/{name}");
        if name.contains(".so") {
            files.push((package.to_owned(), path));
        } else if !name.contains('.') && !BARREN.contains(&name.as_str()) {
            gather(host, package, &path, depth + 1, files);
        }
    }
}

fn inspect(host: &dyn Host, package: &str, path: &str) -> Option<GpuBinary> {
    let source = host.open(path)?;
    let elf = ElfFile::open(source.as_ref())?;
    let coverage = coverage_of_section(&elf);
    let needed: Vec<String> = elf
        .needed()
        .into_iter()
        .filter(|name| {
            name.starts_with("libcu") || name.starts_with("libnv") || name.starts_with("libtorch")
        })
        .collect();
    if coverage.is_none() && needed.is_empty() {
        return None;
    }
    let glibc = elf
        .version_needs()
        .iter()
        .filter_map(|need| Version::parse(need.strip_prefix("GLIBC_")?))
        .max();
    Some(GpuBinary {
        path: path.to_owned(),
        package: package.to_owned(),
        coverage,
        needed,
        glibc,
    })
}
