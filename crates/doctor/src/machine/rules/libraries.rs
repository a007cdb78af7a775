//! Rules about libraries and the loader.

use std::collections::BTreeSet;

use warpsmith_core::Finding;

use super::{Check, anywhere, on_gpu};
use crate::conclude::{Judgement, applies, finding, known, not_applicable, one, pass, unknown};
use crate::machine::facts::{MachineFacts, PythonEnvironment, PythonPackage};
use warpsmith_compatibility::{Version, VersionRange};

pub(super) const RULES: &[Check] = &[
    anywhere("LIB001", shadowed_wheels),
    anywhere("LIB002", old_nvjitlink),
    anywhere("LIB003", mixed_cudnn),
    anywhere("LIB004", system_cudnn),
    anywhere("LIB005", nvrtc_builtins),
    anywhere("LIB006", wheel_pins),
    on_gpu("LIB007", no_libcuda),
    anywhere("LIB008", two_runtimes),
    anywhere("LIB009", old_glibc),
];

/// `libnvJitLink.so.12.1.105` → (`libnvJitLink`, 12.1.105).
fn library(name: &str) -> Option<(&str, Version)> {
    let (stem, version) = name.split_once(".so.")?;
    Some((stem, Version::parse(version)?))
}

/// Libraries on LD_LIBRARY_PATH whose stem the environment's wheels bring too, outside of the
/// wheels' own directories: (directory, file, version, wheel library).
fn shadows<'f>(
    facts: &'f MachineFacts,
    environment: &'f PythonEnvironment,
) -> Vec<(&'f str, &'f str, Version, &'f str)> {
    let mut found = Vec::new();
    for entry in &facts.loader.path_entries {
        if entry.directory.contains("/site-packages/") {
            continue;
        }
        for name in &entry.libraries {
            let Some((stem, version)) = library(name) else {
                continue;
            };
            let own = environment.nvidia_libraries.iter().find(|path| {
                path.rsplit('/')
                    .next()
                    .and_then(library)
                    .is_some_and(|(s, v)| s == stem && v.major() == version.major())
            });
            if let Some(own) = own {
                found.push((
                    entry.directory.as_str(),
                    name.as_str(),
                    version,
                    own.as_str(),
                ));
            }
        }
    }
    found
}

/// The wheel that brings a library, and its version: `nvidia-nvjitlink-cu12`.
fn wheel_version(environment: &PythonEnvironment, stem: &str) -> Option<Version> {
    let key = stem.trim_start_matches("lib").to_ascii_lowercase();
    environment
        .packages
        .iter()
        .find(|p| {
            p.name.strip_prefix("nvidia-").is_some_and(|rest| {
                let rest = rest
                    .trim_end_matches("-cu11")
                    .trim_end_matches("-cu12")
                    .trim_end_matches("-cu13");
                rest == key
                    || (rest == "cuda-runtime" && key == "cudart")
                    || (rest == "cuda-nvrtc" && key == "nvrtc")
            })
        })?
        .version
        .clone()
}

/// The Python environments, one at least.
fn environments(facts: &MachineFacts) -> Judgement<&[PythonEnvironment]> {
    applies(
        !facts.environments.is_empty(),
        "no Python environment was found",
    )?;
    Ok(&facts.environments)
}

fn shadowed_wheels(facts: &MachineFacts) -> Judgement {
    applies(
        !facts.loader.path_entries.is_empty(),
        "LD_LIBRARY_PATH is not set",
    )?;
    let mut findings = Vec::new();
    for environment in environments(facts)? {
        for (directory, file, version, own) in shadows(facts, environment) {
            let stem = file.split(".so").next().unwrap_or(file);
            let wheel = wheel_version(environment, stem);
            // The same version twice does no harm.
            if wheel
                .as_ref()
                .is_some_and(|w| w.minor_name() == version.minor_name())
            {
                continue;
            }
            findings.push(
                finding("LIB001", format!("LD_LIBRARY_PATH loads {stem} {version} before the {} that the wheels bring", wheel.map_or("one".into(), |w| w.to_string())))
                    .because(format!("LD_LIBRARY_PATH: {directory}"), file)
                    .because("wheel", own)
                    .hint(format!("take `{directory}` out of LD_LIBRARY_PATH: the wheels find their own libraries")),
            );
        }
    }
    Ok(findings)
}

fn old_nvjitlink(facts: &MachineFacts) -> Judgement {
    let mut looked = false;
    let mut findings = Vec::new();
    for environment in environments(facts)? {
        let Some(wheel) = wheel_version(environment, "libnvJitLink") else {
            continue;
        };
        looked = true;
        for (directory, file, version, _) in shadows(facts, environment) {
            if file.starts_with("libnvJitLink") && version < wheel {
                findings.push(
                    finding("LIB002", format!("nvJitLink {version} is loaded first, and cuSPARSE of this environment needs {wheel}: `undefined symbol: __nvJitLink…`"))
                        .because(format!("LD_LIBRARY_PATH: {directory}"), file)
                        .because(environment.site_packages.clone(), format!("nvidia-nvjitlink {wheel}"))
                        .hint(format!("take `{directory}` out of LD_LIBRARY_PATH")),
                );
            }
        }
    }
    applies(looked, "no environment brings nvJitLink")?;
    Ok(findings)
}

fn mixed_cudnn(facts: &MachineFacts) -> Judgement {
    applies(
        !facts.loader.cudnn_directories.is_empty(),
        "no cuDNN was found",
    )?;
    Ok(facts
        .loader
        .cudnn_directories
        .iter()
        .filter_map(|directory| {
            let full: BTreeSet<String> = directory
                .files
                .iter()
                .filter_map(|name| library(name))
                .filter(|(_, version)| version.precision() >= 3)
                .map(|(_, version)| version.to_string())
                .collect();
            (full.len() > 1).then(|| {
                let versions: Vec<_> = full.into_iter().collect();
                finding(
                    "LIB003",
                    format!(
                        "cuDNN libraries of different versions lie together: {}",
                        versions.join(", ")
                    ),
                )
                .because(directory.directory.clone(), directory.files.join(", "))
                .hint("reinstall one version of cuDNN in this directory")
            })
        })
        .collect())
}

fn system_cudnn(facts: &MachineFacts) -> Judgement {
    let needed: BTreeSet<u64> = facts
        .environments
        .iter()
        .flat_map(|e| e.packages.iter())
        .filter(|p| p.name.starts_with("nvidia-cudnn"))
        .filter_map(|p| p.version.as_ref().map(Version::major))
        .collect();
    applies(!needed.is_empty(), "no framework pins a cuDNN")?;
    let system: Vec<_> = facts
        .loader
        .cudnn_directories
        .iter()
        .filter(|d| !d.directory.contains("site-packages"))
        .filter_map(|d| Some((d, d.files.iter().find_map(|f| library(f))?.1.major())))
        .collect();
    applies(!system.is_empty(), "no system cuDNN")?;
    Ok(
        system
            .into_iter()
            .filter(|(_, major)| !needed.contains(major))
            .map(|(d, major)| {
                let wants: Vec<_> = needed.iter().map(ToString::to_string).collect();
                finding("LIB004", format!("the system's cuDNN {major} is not the major that the wheels use ({})", wants.join(", ")))
                    .because(d.directory.clone(), d.files.join(", "))
                    .hint("the wheels bring their own cuDNN: remove the system's, or leave it for programs that need it")
            })
            .collect(),
    )
}

fn nvrtc_builtins(facts: &MachineFacts) -> Judgement {
    applies(
        !facts.loader.nvrtc_directories.is_empty(),
        "no NVRTC was found",
    )?;
    Ok(
        facts
            .loader
            .nvrtc_directories
            .iter()
            .filter_map(|d| {
                let versions = |names: &[String]| -> BTreeSet<String> {
                    names
                        .iter()
                        .filter_map(|n| library(n))
                        .filter(|(_, v)| v.precision() >= 2)
                        .map(|(_, v)| v.minor_name())
                        .collect()
                };
                let (nvrtc, builtins) = (versions(&d.nvrtc), versions(&d.builtins));
                let missing = d.builtins.is_empty();
                let apart = !nvrtc.is_empty() && !builtins.is_empty() && nvrtc.is_disjoint(&builtins);
                (missing || apart).then(|| {
                    finding("LIB005", "NVRTC and its builtins library do not belong together: run-time compilation will fail")
                        .because(d.directory.clone(), [d.nvrtc.clone(), d.builtins.clone()].concat().join(", "))
                        .hint("reinstall NVRTC so that both files are of one version")
                })
            })
            .collect(),
    )
}

fn wheel_pins(facts: &MachineFacts) -> Judgement {
    let mut looked = false;
    let mut findings = Vec::new();
    for environment in environments(facts)? {
        for framework in environment
            .packages
            .iter()
            .filter(|p| !p.requires.is_empty())
        {
            let mut wrong = Vec::new();
            if let Some(found) = missing_wheels(facts, environment, framework) {
                looked = true;
                findings.push(found);
                continue;
            }
            for line in &framework.requires {
                // An extra's requirement holds only where the extra was requested.
                if line.contains("extra ==") {
                    continue;
                }
                let Some((name, range)) =
                    requirement(line).filter(|(name, _)| name.starts_with("nvidia-"))
                else {
                    continue;
                };
                let Some(version) = environment.version(&name) else {
                    continue;
                };
                looked = true;
                if !range.contains(version) {
                    wrong.push((name, range, version.clone()));
                }
            }
            if wrong.is_empty() {
                continue;
            }
            let pins: Vec<_> = wrong
                .iter()
                .map(|(name, range, _)| format!("\"{name}{range}\""))
                .collect();
            let mut found = finding(
                "LIB006",
                format!(
                    "{} NVIDIA wheels are not the ones that {} pins",
                    wrong.len(),
                    framework.name
                ),
            );
            for (name, range, version) in &wrong {
                found = found.because(
                    format!("{}/METADATA", framework.directory),
                    format!("{name}{range}, installed {version}"),
                );
            }
            findings.push(found.hint(format!(
                "pip install --force-reinstall --no-deps {}",
                pins.join(" ")
            )));
        }
    }
    if !looked && findings.is_empty() {
        return not_applicable("no framework pins an installed NVIDIA wheel");
    }
    Ok(findings)
}

/// A framework whose NVIDIA wheels are all absent: its import fails on the first library.
fn missing_wheels(
    facts: &MachineFacts,
    environment: &PythonEnvironment,
    framework: &PythonPackage,
) -> Option<Finding> {
    // Conda and NVIDIA's containers bring the libraries in other packages.
    if !environment.conda_packages.is_empty() || !environment.nvidia_libraries.is_empty() {
        return None;
    }
    // A build for CPU alone, or for a toolkit of the system, names none.
    let required: Vec<String> = framework
        .requires
        .iter()
        .filter(|line| !line.contains("extra ==") && applies_here(facts, line))
        .filter_map(|line| requirement(line))
        .filter(|(name, _)| name.starts_with("nvidia-"))
        .map(|(name, range)| format!("{name}{range}"))
        .collect();
    let installed = environment
        .packages
        .iter()
        .any(|package| package.name.starts_with("nvidia-"));
    if required.is_empty() || installed {
        return None;
    }
    let quoted: Vec<String> = required.iter().map(|r| format!("\"{r}\"")).collect();
    Some(
        finding(
            "LIB006",
            format!(
                "{} needs {} NVIDIA wheels and none is installed: its import fails",
                framework.name,
                required.len()
            ),
        )
        .because(
            format!("{}/METADATA", framework.directory),
            required.join(", "),
        )
        .because(environment.site_packages.clone(), "no nvidia-* package")
        .hint(format!("pip install {}", quoted.join(" "))),
    )
}

/// Whether a requirement's marker holds on this machine; an unknown marker does not.
fn applies_here(facts: &MachineFacts, line: &str) -> bool {
    let Some((_, marker)) = line.split_once(';') else {
        return true;
    };
    marker.split(" and ").all(|part| {
        let words: Vec<&str> = part.split(['"', '\'']).collect();
        match (words.first().map(|w| w.trim()), words.get(1)) {
            (Some("platform_system =="), Some(value)) => *value == "Linux",
            (Some("sys_platform =="), Some(value)) => *value == "linux",
            (Some("platform_machine =="), Some(value)) => *value == facts.session.arch,
            _ => false,
        }
    })
}

/// `nvidia-cudnn-cu12==9.10.2.21; platform_system == "Linux"` → name and range.
fn requirement(line: &str) -> Option<(String, VersionRange)> {
    let body = line.split(';').next()?.trim();
    let end = body
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')))
        .unwrap_or(body.len());
    let rest = body[end..].trim();
    let rest = match rest.strip_prefix('[') {
        Some(extras) => extras.split_once(']')?.1.trim(),
        None => rest,
    };
    Some((
        crate::machine::collect::normalise(&body[..end]),
        VersionRange::parse(rest),
    ))
}

fn no_libcuda(facts: &MachineFacts) -> Judgement {
    if facts.loader.libcuda.is_some() {
        return pass();
    }
    one(finding(
        "LIB007",
        "the loader finds no libcuda.so.1: every CUDA program says that there is no driver",
    )
    .because(
        "/etc/ld.so.cache and the system's library directories",
        "no libcuda.so",
    )
    .hint("install the driver's user-space libraries (Debian: libcuda1) and run `ldconfig`"))
}

fn two_runtimes(facts: &MachineFacts) -> Judgement {
    let mut findings = Vec::new();
    let mut looked = false;
    for environment in environments(facts)? {
        let mut majors: Vec<(u64, &str)> = Vec::new();
        for binary in &environment.binaries {
            for name in &binary.needed {
                if let Some((_, version)) = library(name).filter(|(stem, _)| *stem == "libcudart") {
                    looked = true;
                    if !majors.iter().any(|(major, _)| *major == version.major()) {
                        majors.push((version.major(), &binary.path));
                    }
                }
            }
        }
        if majors.len() > 1 {
            let mut found = finding(
                "LIB008",
                "libraries of this environment need different CUDA runtime majors",
            );
            for (major, path) in majors {
                found = found.because(path, format!("needs libcudart.so.{major}"));
            }
            findings.push(
                found.hint(
                    "install builds of one CUDA major, or keep them in separate environments",
                ),
            );
        }
    }
    known(looked, "no library names a CUDA runtime")?;
    Ok(findings)
}

fn old_glibc(facts: &MachineFacts) -> Judgement {
    let Some(system) = &facts.system.glibc else {
        return unknown("the system's glibc version is not known");
    };
    let needs: Vec<_> = facts
        .environments
        .iter()
        .flat_map(|e| &e.binaries)
        .filter_map(|b| Some((b, b.glibc.as_ref()?)))
        .collect();
    applies(!needs.is_empty(), "no library with GPU code was found")?;
    let worst = needs
        .into_iter()
        .filter(|(_, need)| **need > system.value)
        .max_by(|a, b| a.1.cmp(b.1));
    match worst {
        None => pass(),
        Some((binary, need)) => one(finding(
            "LIB009",
            format!(
                "{} needs glibc {need}, this system has {}",
                binary.package, system.value
            ),
        )
        .because(binary.path.clone(), format!("GLIBC_{need}"))
        .because(system.source.clone(), system.value.to_string())
        .hint("use a newer distribution or container image, or an older build of the package")),
    }
}
