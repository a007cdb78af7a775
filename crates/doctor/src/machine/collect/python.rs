//! Python environments, read from their files; Python is never started.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::elf_scan;
use super::search_path::prefixes_with;
use crate::host::Host;
use crate::machine::facts::{PythonEnvironment, PythonPackage, Sourced, TorchInstall};
use warpsmith_compatibility::Version;

pub(super) fn collect(host: &dyn Host) -> Vec<PythonEnvironment> {
    let mut sites = BTreeSet::new();
    let env = &host.session().env;
    let mut prefixes: Vec<String> = ["VIRTUAL_ENV", "CONDA_PREFIX"]
        .iter()
        .filter_map(|name| env.get(*name).cloned())
        .collect();
    // Every `bin` on PATH that holds a Python may be an environment.
    prefixes.extend(prefixes_with(host, "python3"));
    prefixes.extend(["/usr/local".to_owned(), "/usr".to_owned()]);
    for prefix in prefixes {
        for folder in ["lib", "lib64"] {
            let base = format!("{}/{folder}", prefix.trim_end_matches('/'));
            // `lib64 -> lib` and `/lib -> usr/lib` are the same environment by another name.
            let alias = host.link(&base).is_some_and(|target| {
                matches!(target.trim_matches('/'), "lib" | "usr/lib" | "usr/lib64")
            });
            if alias {
                continue;
            }
            for name in host.list(&base).unwrap_or_default() {
                if !name.starts_with("python3") {
                    continue;
                }
                for leaf in ["site-packages", "dist-packages"] {
                    let site = format!("{base}/{name}/{leaf}");
                    if host.list(&site).is_some() {
                        sites.insert(site);
                    }
                }
            }
        }
    }
    let sites: Vec<_> = sites.into_iter().collect();
    sites
        .par_iter()
        .filter_map(|site| environment(host, site))
        .collect()
}

fn environment(host: &dyn Host, site: &str) -> Option<PythonEnvironment> {
    let names = host.list(site)?;
    let packages: Vec<_> = names
        .par_iter()
        .filter_map(|name| package(host, site, name))
        .collect();
    if packages.is_empty() {
        return None;
    }
    let python = site
        .split('/')
        .find_map(|part| part.strip_prefix("python"))
        .and_then(Version::parse);
    let user_site = user_site(host, python.as_ref());
    let nvidia_libraries = nvidia_libraries(host, site);
    let interesting = packages.iter().any(|p| is_gpu_package(&p.name));
    let binaries = if interesting {
        elf_scan::scan_environment(host, site, &names)
    } else {
        Vec::new()
    };
    let torch = torch(host, site, &binaries);
    let prefix = site.split("/lib/python").next().unwrap_or(site);
    Some(PythonEnvironment {
        cupy_cuda: read_json_field(host, &format!("{site}/cupy/.data/_wheel.json"), "cuda"),
        bitsandbytes_libraries: host
            .list(&format!("{site}/bitsandbytes"))
            .unwrap_or_default()
            .into_iter()
            .filter(|name| name.starts_with("libbitsandbytes_cuda"))
            .collect(),
        tensorflow_cuda: tensorflow_cuda(host, site),
        conda_packages: host
            .list(&format!("{prefix}/conda-meta"))
            .unwrap_or_default()
            .into_iter()
            .filter(|name| {
                ["cuda", "cudnn", "nccl"]
                    .iter()
                    .any(|stem| name.starts_with(stem))
            })
            .collect(),
        user_site_packages: user_site
            .as_deref()
            .and_then(|path| host.list(path))
            .unwrap_or_default()
            .iter()
            .filter_map(|name| {
                Some(normalise(
                    name.strip_suffix(".dist-info")?.split('-').next()?,
                ))
            })
            .collect(),
        user_site,
        site_packages: site.to_owned(),
        python,
        packages,
        torch,
        nvidia_libraries,
        binaries,
    })
}

/// PEP 503.
pub(crate) fn normalise(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        let c = if matches!(c, '_' | '.' | '-') {
            '-'
        } else {
            c.to_ascii_lowercase()
        };
        if !(c == '-' && out.ends_with('-')) {
            out.push(c);
        }
    }
    out
}

fn is_gpu_package(name: &str) -> bool {
    [
        "torch",
        "cupy",
        "jax",
        "tensorflow",
        "bitsandbytes",
        "flash-attn",
        "xformers",
        "nvidia-",
        "onnxruntime",
        "numba",
        "triton",
    ]
    .iter()
    .any(|stem| name.starts_with(stem))
}

fn package(host: &dyn Host, site: &str, directory: &str) -> Option<PythonPackage> {
    let stem = directory.strip_suffix(".dist-info")?;
    let (name, version) = stem.rsplit_once('-')?;
    let name = normalise(name);
    let mut version = Version::parse(version);
    let mut requires = Vec::new();
    if is_gpu_package(&name)
        && let Some(text) = host.text(&format!("{site}/{directory}/METADATA"))
    {
        // Only the headers: the description behind the blank line is long and says nothing here.
        for line in text.lines().take_while(|line| !line.is_empty()) {
            if let Some(value) = line.strip_prefix("Version: ") {
                version = Version::parse(value).or(version);
            } else if let Some(value) = line.strip_prefix("Requires-Dist: ") {
                requires.push(value.trim().to_owned());
            }
        }
    }
    Some(PythonPackage {
        name,
        version,
        directory: format!("{site}/{directory}"),
        requires,
    })
}

fn torch(
    host: &dyn Host,
    site: &str,
    binaries: &[crate::machine::facts::GpuBinary],
) -> Option<TorchInstall> {
    let source = format!("{site}/torch/version.py");
    let text = host.text(&source)?;
    let assigned = |name: &str| -> Option<String> {
        text.lines().find_map(|line| {
            let rest = line.strip_prefix(name)?;
            let value = rest.split_once('=')?.1.trim();
            Some(value.trim_matches(['\'', '"']).to_owned())
        })
    };
    Some(TorchInstall {
        version: assigned("__version__").and_then(|v| Version::parse(&v)),
        cuda: assigned("cuda").and_then(|v| Version::parse(&v)),
        coverage: binaries
            .iter()
            .find(|b| b.path.ends_with("/torch/lib/libtorch_cuda.so"))
            .and_then(|b| b.coverage.clone()),
        source,
    })
}

fn tensorflow_cuda(host: &dyn Host, site: &str) -> Option<Sourced<String>> {
    let path = format!("{site}/tensorflow/python/platform/build_info.py");
    let text = host.text(&path)?;
    let at = text.find("cuda_version")?;
    let value: String = text[at + 12..]
        .trim_start_matches(['"', '\'', ':', '=', ' '])
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == '.')
        .collect();
    (!value.is_empty()).then(|| Sourced::new(value, path))
}

fn read_json_field(host: &dyn Host, path: &str, field: &str) -> Option<Sourced<String>> {
    let json: serde_json::Value = serde_json::from_slice(&host.read(path)?).ok()?;
    Some(Sourced::new(json[field].as_str()?.to_owned(), path))
}

fn nvidia_libraries(host: &dyn Host, site: &str) -> Vec<String> {
    let base = format!("{site}/nvidia");
    host.list(&base)
        .unwrap_or_default()
        .into_iter()
        .flat_map(|name| {
            let directory = format!("{base}/{name}/lib");
            host.list(&directory)
                .unwrap_or_default()
                .into_iter()
                .filter(|file| file.contains(".so"))
                .map(move |file| format!("{directory}/{file}"))
        })
        .collect()
}

fn user_site(host: &dyn Host, python: Option<&Version>) -> Option<String> {
    let env = &host.session().env;
    let home = env.get("HOME")?;
    // A virtual environment does not look at the user's site at all.
    if env.contains_key("VIRTUAL_ENV") {
        return None;
    }
    let path = format!(
        "{home}/.local/lib/python{}/site-packages",
        python?.minor_name()
    );
    host.list(&path).map(|_| path)
}
