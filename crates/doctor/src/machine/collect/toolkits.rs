//! CUDA toolkits, host compilers and profilers.

use std::time::Duration;

use super::search_path::prefixes_with;
use crate::host::Host;
use crate::machine::facts::{Compilers, Profilers, Sourced, ToolkitInstall, ToolkitLayout};
use warpsmith_compatibility::Version;

const DEBIAN: &str = "/usr/lib/nvidia-cuda-toolkit";
const HEADERS: [&str; 2] = ["cuda_runtime.h", "nv/target"];

pub(super) fn collect(host: &dyn Host) -> Vec<ToolkitInstall> {
    let env = &host.session().env;
    let mut roots: Vec<String> = Vec::new();
    let mut add = |root: String| {
        let root = root.trim_end_matches('/').to_owned();
        if !root.is_empty() && root.starts_with('/') && !roots.contains(&root) {
            roots.push(root);
        }
    };
    for name in ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"] {
        env.get(name).cloned().into_iter().for_each(&mut add);
    }
    prefixes_with(host, "nvcc")
        .filter(|root| root != "/usr")
        .for_each(&mut add);
    for (parent, prefix) in [("/usr/local", "cuda"), ("/opt", "cuda")] {
        for name in host.list(parent).unwrap_or_default() {
            if name.starts_with(prefix) {
                add(format!("{parent}/{name}"));
            }
        }
    }
    if host.exists(DEBIAN) {
        add(DEBIAN.to_owned());
    }
    if let Some(prefix) = env.get("CONDA_PREFIX") {
        add(prefix.clone());
    }
    let mut found: Vec<ToolkitInstall> = Vec::new();
    for root in roots {
        // `/usr/local/cuda` is a link to one of its siblings: the same toolkit, named once.
        let real = host
            .link(&root)
            .map(|target| match target.starts_with('/') {
                true => target,
                false => format!(
                    "{}/{target}",
                    root.rsplit_once('/').map_or("", |(dir, _)| dir)
                ),
            })
            .unwrap_or_else(|| root.clone());
        if found.iter().any(|t| t.root == real || t.root == root) {
            continue;
        }
        if let Some(toolkit) = inspect(host, &root) {
            found.push(toolkit);
        }
    }
    found
}

fn inspect(host: &dyn Host, root: &str) -> Option<ToolkitInstall> {
    // Conda and the wheels put the toolkit below `targets/<platform>`.
    let targets: Vec<String> = host
        .list(&format!("{root}/targets"))
        .unwrap_or_default()
        .into_iter()
        .map(|name| format!("{root}/targets/{name}"))
        .collect();
    let places: Vec<String> = std::iter::once(root.to_owned()).chain(targets).collect();
    let first = |tail: &str| {
        places
            .iter()
            .map(|place| format!("{place}/{tail}"))
            .find(|path| host.exists(path))
    };
    let layout = if root == DEBIAN {
        ToolkitLayout::Debian
    } else if host
        .session()
        .env
        .get("CONDA_PREFIX")
        .is_some_and(|p| p == root)
        || root.contains("conda")
    {
        ToolkitLayout::Conda
    } else {
        ToolkitLayout::Nvidia
    };
    let mut versions_seen = Vec::new();
    if let Some(path) = first("version.json")
        && let Some(text) = host.text(&path)
        && let Ok(json) = serde_json::from_str::<serde_json::Value>(&text)
        && let Some(version) = json["cuda"]["version"].as_str().and_then(Version::parse)
    {
        versions_seen.push(Sourced::new(version, path));
    }
    if let Some(path) = first("version.txt")
        && let Some(version) = host
            .text(&path)
            .and_then(|text| Version::parse(text.trim().strip_prefix("CUDA Version ")?))
    {
        versions_seen.push(Sourced::new(version, path));
    }
    let nvcc = first("bin/nvcc");
    let cudart = ["lib64", "lib", "lib/x86_64-linux-gnu"]
        .iter()
        .find_map(|folder| {
            places.iter().find_map(|place| {
                let directory = format!("{place}/{folder}");
                host.list(&directory)?
                    .into_iter()
                    .filter(|name| name.starts_with("libcudart.so."))
                    .max_by_key(|name| name.len())
                    .map(|name| format!("{directory}/{name}"))
            })
        });
    // Asking nvcc costs a process: only where no file answers.
    if versions_seen.is_empty()
        && let Some(nvcc) = &nvcc
        && let Some(output) = host.run(&[nvcc, "--version"], Duration::from_secs(3))
        && let Some(version) = output
            .stdout
            .split(", V")
            .nth(1)
            .and_then(|t| Version::parse(t.split_whitespace().next()?))
    {
        versions_seen.push(Sourced::new(version, format!("{nvcc} --version")));
    }
    if let Some(path) = &cudart
        && let Some(version) = path.split(".so.").nth(1).and_then(Version::parse)
        && version.precision() >= 2
    {
        versions_seen.push(Sourced::new(version, path.clone()));
    }
    let debian_headers = (layout == ToolkitLayout::Debian).then(|| "/usr/include".to_owned());
    let includes: Vec<String> = places
        .iter()
        .map(|place| format!("{place}/include"))
        .chain(debian_headers)
        .collect();
    let has = |header: &str| {
        includes
            .iter()
            .any(|dir| host.exists(&format!("{dir}/{header}")))
    };
    let missing_headers: Vec<String> = HEADERS
        .iter()
        .filter(|header| !has(header))
        .map(|header| (*header).to_owned())
        .collect();
    let has_headers = has("cuda_runtime.h");
    if nvcc.is_none() && versions_seen.is_empty() && !has_headers {
        return None;
    }
    Some(ToolkitInstall {
        root: root.to_owned(),
        version: versions_seen.first().cloned(),
        versions_seen,
        nvcc,
        missing_headers,
        has_headers,
        cudart,
        layout,
    })
}

pub(super) fn compilers(host: &dyn Host, toolkits: &[ToolkitInstall]) -> Compilers {
    // Nobody compiles without a toolkit: then the compiler does not matter and is not started.
    if toolkits.is_empty() {
        return Compilers::default();
    }
    let env = &host.session().env;
    let chosen = ["NVCC_CCBIN", "CUDAHOSTCXX"]
        .iter()
        .find_map(|name| env.get(*name).cloned());
    let command = chosen.unwrap_or_else(|| "gcc".to_owned());
    let argv = [command.as_str(), "-dumpfullversion", "-dumpversion"];
    Compilers {
        gcc: host
            .run(&argv, Duration::from_secs(2))
            .filter(|output| output.rc == 0)
            .and_then(|output| Version::parse(&output.stdout))
            .map(|version| Sourced::new(version, argv.join(" "))),
    }
}

pub(super) fn profilers(host: &dyn Host, toolkits: &[ToolkitInstall]) -> Profilers {
    let find = |program: &str, folders: &str| {
        host.which(program)
            .or_else(|| {
                toolkits
                    .iter()
                    .map(|toolkit| format!("{}/bin/{program}", toolkit.root))
                    .find(|path| host.exists(path))
            })
            .or_else(|| {
                let names = host.list("/opt/nvidia")?;
                let name = names
                    .iter()
                    .rev()
                    .find(|n| !folders.is_empty() && n.starts_with(folders))?;
                Some(format!("/opt/nvidia/{name}"))
            })
    };
    let ncu = find("ncu", "nsight-compute");
    Profilers {
        nsys: find("nsys", "nsight-systems"),
        ncu_version: ncu.as_deref().and_then(|path| {
            host.list("/opt/nvidia/nsight-compute")
                .and_then(|names| names.iter().rev().find_map(|n| Version::parse(n)))
                .or_else(|| Version::parse(path.rsplit("nsight-compute-").next()?))
        }),
        ncu,
        sanitizer: find("compute-sanitizer", ""),
        gdb: find("cuda-gdb", ""),
    }
}
