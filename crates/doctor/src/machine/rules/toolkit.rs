//! Rules about CUDA toolkits and the host compiler.

use super::evidence::{capabilities, driver_and_newest_cuda};
use super::{Check, anywhere, on_gpu};
use crate::conclude::{Judgement, applies, finding, known, not_applicable, one, pass, unknown};
use crate::machine::facts::{MachineFacts, ToolkitInstall, ToolkitLayout};
use warpsmith_compatibility::Target;
use warpsmith_compatibility::Version;
use warpsmith_compatibility::database;

pub(super) const RULES: &[Check] = &[
    anywhere("TKT001", none),
    anywhere("TKT002", several),
    anywhere("TKT003", home_incomplete),
    anywhere("TKT004", path_against_home),
    on_gpu("TKT005", newer_than_driver),
    on_gpu("TKT006", cannot_target),
    anywhere("TKT007", host_compiler),
    anywhere("TKT008", headers),
    anywhere("TKT009", debian_layout),
    anywhere("TKT010", vulnerable),
    anywhere("TKT011", disagreeing_versions),
];

const NO_TOOLKIT: &str = "no CUDA toolkit is installed";

fn home(facts: &MachineFacts) -> Option<&str> {
    facts
        .env("CUDA_HOME")
        .or_else(|| facts.env("CUDA_PATH"))
        .map(|home| home.trim_end_matches('/'))
}

/// The toolkit that builds use: CUDA_HOME's, then PATH's, then /usr/local/cuda, then the newest.
pub(crate) fn winner(facts: &MachineFacts) -> Option<&ToolkitInstall> {
    let by_home = home(facts).and_then(|home| facts.toolkits.iter().find(|t| t.root == home));
    let by_path = || {
        facts.env("PATH")?.split(':').find_map(|directory| {
            facts.toolkits.iter().find(|t| {
                t.nvcc
                    .as_deref()
                    .is_some_and(|nvcc| nvcc == format!("{}/nvcc", directory.trim_end_matches('/')))
            })
        })
    };
    by_home
        .or_else(by_path)
        .or_else(|| facts.toolkits.iter().find(|t| t.root == "/usr/local/cuda"))
        .or_else(|| {
            facts
                .toolkits
                .iter()
                .max_by(|a, b| version_of(a).cmp(&version_of(b)))
        })
}

fn version_of(toolkit: &ToolkitInstall) -> Option<&Version> {
    toolkit.version.as_ref().map(|version| &version.value)
}

fn none(facts: &MachineFacts) -> Judgement {
    if !facts.toolkits.is_empty() {
        return pass();
    }
    one(finding(
        "TKT001",
        "no CUDA toolkit; one is needed to compile, not to run",
    )
    .because(
        "PATH, CUDA_HOME, /usr/local/cuda*, /opt/cuda*, conda",
        "no nvcc",
    ))
}

fn several(facts: &MachineFacts) -> Judgement {
    applies(!facts.toolkits.is_empty(), NO_TOOLKIT)?;
    let mut versions: Vec<_> = facts
        .toolkits
        .iter()
        .filter_map(version_of)
        .map(Version::minor_name)
        .collect();
    versions.sort();
    versions.dedup();
    let Some(winner) = winner(facts) else {
        return pass();
    };
    if versions.len() < 2 {
        return pass();
    }
    let mut found = finding(
        "TKT002",
        format!(
            "{} CUDA toolkits ({}); `{}` wins",
            facts.toolkits.len(),
            versions.join(", "),
            winner.root
        ),
    );
    for toolkit in &facts.toolkits {
        found = found.because(
            toolkit.root.clone(),
            version_of(toolkit).map_or("version unknown".into(), |v| v.to_string()),
        );
    }
    one(found.hint(format!(
        "say which one you mean: export CUDA_HOME={} PATH={}/bin:$PATH",
        winner.root, winner.root
    )))
}

fn home_incomplete(facts: &MachineFacts) -> Judgement {
    let Some(home) = home(facts) else {
        return not_applicable("CUDA_HOME is not set");
    };
    let toolkit = facts.toolkits.iter().find(|t| t.root == home);
    let missing: Vec<&str> = match toolkit {
        None => vec!["the directory itself, or anything of CUDA in it"],
        Some(t) => [
            (t.nvcc.is_none(), "bin/nvcc"),
            (!t.has_headers, "include/cuda_runtime.h"),
            (t.cudart.is_none(), "lib64/libcudart.so"),
        ]
        .into_iter()
        .filter_map(|(absent, name)| absent.then_some(name))
        .collect(),
    };
    if missing.is_empty() {
        return pass();
    }
    let better = facts
        .toolkits
        .iter()
        .find(|t| t.root != home && t.nvcc.is_some());
    one(finding(
        "TKT003",
        format!("CUDA_HOME is `{home}` and lacks {}", missing.join(", ")),
    )
    .because("CUDA_HOME", home)
    .hint(match better {
        Some(t) => format!("export CUDA_HOME={}", t.root),
        None => "install the toolkit there, or unset CUDA_HOME".to_owned(),
    }))
}

fn path_against_home(facts: &MachineFacts) -> Judgement {
    let (Some(home), Some(path)) = (home(facts), facts.env("PATH")) else {
        return not_applicable("CUDA_HOME or PATH is not set");
    };
    let first = path.split(':').find_map(|directory| {
        let nvcc = format!("{}/nvcc", directory.trim_end_matches('/'));
        facts
            .toolkits
            .iter()
            .find(|t| t.nvcc.as_ref() == Some(&nvcc))
    });
    match first {
        None => not_applicable("no nvcc on PATH"),
        Some(t) if t.root == home => pass(),
        Some(t) => one(finding(
            "TKT004",
            format!("`nvcc` on PATH is from {} and CUDA_HOME is {home}", t.root),
        )
        .because("PATH", t.nvcc.clone().unwrap_or_default())
        .because("CUDA_HOME", home)
        .hint(format!("export PATH={home}/bin:$PATH"))),
    }
}

fn newer_than_driver(facts: &MachineFacts) -> Judgement {
    let (driver, newest) = driver_and_newest_cuda(facts)?;
    applies(!facts.toolkits.is_empty(), NO_TOOLKIT)?;
    Ok(facts
        .toolkits
        .iter()
        .filter_map(|t| t.version.as_ref())
        .filter(|version| version.value.major() > newest.major())
        .map(|version| {
            let floor = database().driver_floor(version.value.major());
            finding(
                "TKT005",
                format!(
                    "toolkit {} is for CUDA {}, and driver {} runs CUDA {newest} at most",
                    version.value,
                    version.value.major(),
                    driver.value
                ),
            )
            .because(version.source.clone(), version.value.to_string())
            .because(driver.source.clone(), driver.value.to_string())
            .hint(match floor {
                Some(floor) => format!(
                    "upgrade the driver to {floor} or newer, or use a CUDA {} toolkit",
                    newest.major()
                ),
                None => format!("use a CUDA {} toolkit", newest.major()),
            })
        })
        .collect())
}

fn cannot_target(facts: &MachineFacts) -> Judgement {
    let Some(toolkit) = winner(facts) else {
        return not_applicable(NO_TOOLKIT);
    };
    let Some(version) = &toolkit.version else {
        return unknown("the toolkit's version is not known");
    };
    let Some(targets) = database()
        .toolkit(&version.value)
        .and_then(|row| row.sm_targets.as_ref())
    else {
        return unknown("the toolkit's targets are not in the database");
    };
    let capabilities = capabilities(facts)?;
    let can = |toolkit_targets: &[String], sm: u32| {
        toolkit_targets
            .iter()
            .filter_map(|t| Target::parse(t))
            .any(|t| t.capability.sm() == sm)
    };
    Ok(capabilities
        .into_iter()
        .filter(|(_, capability)| !can(targets, capability.sm()))
        .map(|(gpu, capability)| {
            let usable: Vec<&str> = database()
                .cuda_toolkits
                .iter()
                .filter(|row| {
                    row.sm_targets
                        .as_deref()
                        .is_some_and(|t| can(t, capability.sm()))
                })
                .map(|row| row.toolkit.as_str())
                .collect();
            finding(
                "TKT006",
                format!(
                    "toolkit {} cannot compile for {} (sm_{})",
                    version.value,
                    gpu.name,
                    capability.sm()
                ),
            )
            .because(version.source.clone(), version.value.to_string())
            .because(gpu.source.clone(), format!("{}, {capability}", gpu.name))
            .hint(match (usable.first(), usable.last()) {
                (Some(first), Some(last)) => {
                    format!("use a toolkit from CUDA {first} to {last}")
                }
                _ => "no toolkit in the database has this target".to_owned(),
            })
        })
        .collect())
}

fn host_compiler(facts: &MachineFacts) -> Judgement {
    let Some(toolkit) = winner(facts).filter(|t| t.nvcc.is_some()) else {
        return not_applicable("no nvcc is installed");
    };
    let Some(gcc) = &facts.compilers.gcc else {
        return unknown("gcc did not answer");
    };
    let Some((version, most)) = toolkit
        .version
        .as_ref()
        .and_then(|v| Some((v, database().toolkit(&v.value)?.max_gcc?)))
    else {
        return unknown("the toolkit's host compiler range is not in the database");
    };
    if gcc.value.major() <= most {
        return pass();
    }
    one(finding(
        "TKT007",
        format!(
            "gcc {} is newer than gcc {most}, the newest that nvcc {} accepts",
            gcc.value,
            version.value.minor_name()
        ),
    )
    .because(gcc.source.clone(), gcc.value.to_string())
    .because(version.source.clone(), version.value.to_string())
    .hint(format!(
        "install g++-{most} and export NVCC_CCBIN=g++-{most}"
    )))
}

fn headers(facts: &MachineFacts) -> Judgement {
    applies(!facts.toolkits.is_empty(), NO_TOOLKIT)?;
    Ok(facts
        .toolkits
        .iter()
        .filter(|t| t.nvcc.is_some() || t.has_headers)
        // Debian splits headers into packages of their own; what it lacks shows when compiling.
        .filter(|t| t.layout != ToolkitLayout::Debian && !t.missing_headers.is_empty())
        .map(|t| {
            finding(
                "TKT008",
                format!(
                    "the toolkit in `{}` lacks headers: {}",
                    t.root,
                    t.missing_headers.join(", ")
                ),
            )
            .because(
                format!("{}/include", t.root),
                format!("no {}", t.missing_headers.join(", ")),
            )
            .hint(match t.layout {
                ToolkitLayout::Conda => {
                    "conda install -c nvidia cuda-cudart-dev cuda-cccl".to_owned()
                }
                _ => format!(
                    "install the development package, cuda-toolkit-{}",
                    version_of(t).map_or("X-Y".into(), |v| v.minor_name().replace('.', "-"))
                ),
            })
        })
        .collect())
}

fn debian_layout(facts: &MachineFacts) -> Judgement {
    match facts.toolkits.iter().find(|t| t.layout == ToolkitLayout::Debian) {
        None => not_applicable("no distribution toolkit"),
        Some(t) => one(
            finding("TKT009", "the distribution's toolkit spreads over /usr: headers in /usr/include, nvcc in /usr/bin")
                .because(t.root.clone(), "Debian layout")
                .hint("builds that ask for CUDA_HOME want `export CUDA_HOME=/usr/lib/nvidia-cuda-toolkit`"),
        ),
    }
}

fn vulnerable(facts: &MachineFacts) -> Judgement {
    applies(!facts.toolkits.is_empty(), NO_TOOLKIT)?;
    let versions: Vec<_> = facts
        .toolkits
        .iter()
        .filter_map(|t| t.version.as_ref())
        .collect();
    known(!versions.is_empty(), "the toolkit's version is not known")?;
    Ok(
        versions
            .into_iter()
            .filter_map(|version| {
                let cves = database().toolkit_cves(&version.value);
                let newest = cves.iter().map(|(_, fixed)| fixed).max()?;
                Some(
                    finding("TKT010", format!("toolkit {} has {} known CVEs in its tools", version.value, cves.len()))
                        .because(version.source.clone(), version.value.to_string())
                        .because("NVIDIA bulletins", cves.iter().take(3).map(|(cve, _)| cve.as_str()).collect::<Vec<_>>().join(", "))
                        .hint(format!("do not open binaries that you do not trust with its cuobjdump or nvdisasm; all are fixed in {newest}")),
                )
            })
            .collect(),
    )
}

fn disagreeing_versions(facts: &MachineFacts) -> Judgement {
    applies(!facts.toolkits.is_empty(), NO_TOOLKIT)?;
    let mut findings = Vec::new();
    let mut compared = false;
    for toolkit in &facts.toolkits {
        let Some(first) = toolkit.versions_seen.first() else {
            continue;
        };
        for other in &toolkit.versions_seen[1..] {
            compared = true;
            if other.value.minor_name() != first.value.minor_name() {
                findings.push(
                    finding(
                        "TKT011",
                        format!(
                            "the toolkit in `{}` says both {} and {}",
                            toolkit.root, first.value, other.value
                        ),
                    )
                    .because(first.source.clone(), first.value.to_string())
                    .because(other.source.clone(), other.value.to_string())
                    .hint(
                        "two installations are mixed in one directory: remove it and install one",
                    ),
                );
            }
        }
    }
    known(compared, "only one source names the version")?;
    Ok(findings)
}
