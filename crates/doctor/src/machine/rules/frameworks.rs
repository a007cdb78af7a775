//! Rules about frameworks other than torch: CuPy, Numba, JAX, TensorFlow, ONNX runtime, bitsandbytes.

use super::python::per_environment;
use crate::conclude::{Judgement, finding};
use crate::machine::facts::{MachineFacts, PythonEnvironment};
use warpsmith_compatibility::Version;
use warpsmith_compatibility::database;

fn cupy_packages(e: &PythonEnvironment) -> Vec<&str> {
    e.packages
        .iter()
        .map(|p| p.name.as_str())
        .filter(|name| {
            *name == "cupy" || name.starts_with("cupy-cuda") || name.starts_with("cupy-rocm")
        })
        .collect()
}

pub(super) fn two_cupy(facts: &MachineFacts) -> Judgement {
    per_environment(
        facts,
        "no CuPy was found",
        |e| !cupy_packages(e).is_empty(),
        |e| {
            let names = cupy_packages(e);
            if names.len() < 2 {
                return Vec::new();
            }
            let driver_major = facts
                .driver_version()
                .and_then(|d| database().newest_cuda_of(&d.value))
                .map(|c| c.major());
            let keep = names
                .iter()
                .rev()
                .find(|name| driver_major.is_some_and(|m| **name == format!("cupy-cuda{m}x")))
                .or_else(|| {
                    names.iter().rev().find(|name| {
                        cupy_major(name).is_some_and(|m| driver_major.is_none_or(|d| m <= d))
                    })
                })
                .unwrap_or(&names[0]);
            vec![
                finding(
                    "PYE007",
                    format!(
                        "{} CuPy packages overwrite each other: {}",
                        names.len(),
                        names.join(", ")
                    ),
                )
                .because(e.site_packages.clone(), names.join(", "))
                .hint(format!(
                    "pip uninstall -y {} && pip install {keep}",
                    names.join(" ")
                )),
            ]
        },
    )
}

/// `cupy-cuda12x` → 12.
fn cupy_major(package: &str) -> Option<u64> {
    let digits = package.strip_prefix("cupy-cuda")?;
    match digits.strip_suffix('x') {
        Some(major) => major.parse().ok(),
        None => digits.get(..2)?.parse().ok(),
    }
}

/// CUDA run-time majors that a process of this environment can load.
fn runtime_majors(facts: &MachineFacts, e: &PythonEnvironment) -> Vec<u64> {
    let mut majors = Vec::new();
    let mut add = |name: &str| {
        for stem in ["libcudart.so.", "libnvrtc.so."] {
            if let Some(version) = name.strip_prefix(stem).and_then(Version::parse) {
                majors.push(version.major());
            }
        }
    };
    e.nvidia_libraries
        .iter()
        .filter_map(|p| p.rsplit('/').next())
        .for_each(&mut add);
    facts
        .loader
        .path_entries
        .iter()
        .flat_map(|p| &p.libraries)
        .for_each(|name| add(name));
    facts
        .loader
        .cache
        .iter()
        .flatten()
        .for_each(|(name, _)| add(name));
    majors.extend(
        facts
            .toolkits
            .iter()
            .filter_map(|t| Some(t.version.as_ref()?.value.major())),
    );
    majors.sort_unstable();
    majors.dedup();
    majors
}

pub(super) fn cupy_libraries(facts: &MachineFacts) -> Judgement {
    let wanted = |e: &PythonEnvironment| {
        cupy_packages(e)
            .iter()
            .find_map(|name| cupy_major(name))
            .or_else(|| {
                e.cupy_cuda
                    .as_ref()
                    .and_then(|c| Version::parse(c.value.trim_end_matches(".x")))
                    .map(|v| v.major())
            })
    };
    per_environment(
        facts,
        "no CuPy was found",
        |e| wanted(e).is_some(),
        |e| {
            let Some(major) = wanted(e) else {
                return Vec::new();
            };
            let here = runtime_majors(facts, e);
            if here.is_empty() || here.contains(&major) {
                return Vec::new();
            }
            let names: Vec<_> = here.iter().map(ToString::to_string).collect();
            let source = e
                .cupy_cuda
                .as_ref()
                .map_or(e.site_packages.clone(), |c| c.source.clone());
            // The driver decides which major can run; the package must follow it, not the toolkit.
            let driver_major = facts
                .driver_version()
                .and_then(|d| database().newest_cuda_of(&d.value))
                .map(|c| c.major());
            let target = driver_major.map_or(major, |d| d.min(13));
            vec![finding("PYE008", format!("CuPy is built for CUDA {major} and the libraries here are of CUDA {}", names.join(", ")))
            .because(source, format!("CUDA {major}.x"))
            .because("libcudart, libnvrtc", format!("CUDA {}", names.join(", ")))
            .hint(if target == major {
                format!("let pip bring the matching libraries: pip install \"cupy-cuda{major}x[ctk]\"")
            } else {
                format!("pip uninstall -y cupy-cuda{major}x && pip install \"cupy-cuda{target}x[ctk]\"")
            })]
        },
    )
}

pub(super) fn numba_nvvm(facts: &MachineFacts) -> Judgement {
    per_environment(
        facts,
        "no numba-cuda was found",
        |e| e.package("numba-cuda").is_some(),
        |e| {
            let from_wheels = e.packages.iter().any(|p| {
                p.name.starts_with("nvidia-cuda-nvcc")
                    || p.name.starts_with("nvidia-nvvm")
                    || p.name.starts_with("nvidia-cuda-nvrtc")
            });
            if from_wheels || facts.toolkits.iter().any(|t| t.nvcc.is_some()) {
                return Vec::new();
            }
            let major = facts
                .driver_version()
                .and_then(|d| database().newest_cuda_of(&d.value))
                .map_or(12, |c| c.major().clamp(12, 13));
            vec![
                finding(
                    "PYE009",
                    "numba-cuda finds no NVVM and no libdevice: kernels cannot be compiled",
                )
                .because(e.site_packages.clone(), "no nvidia-cuda-nvcc, no toolkit")
                .hint(format!("pip install \"numba-cuda[cu{major}]\"")),
            ]
        },
    )
}

pub(super) fn numba_builtin_target(facts: &MachineFacts) -> Judgement {
    let since = Version::parse("0.61");
    per_environment(
        facts,
        "no numba was found",
        |e| e.version("numba").is_some(),
        |e| {
            let Some(version) = e
                .version("numba")
                .filter(|v| since.as_ref().is_some_and(|s| *v >= s))
            else {
                return Vec::new();
            };
            if e.package("numba-cuda").is_some() {
                return Vec::new();
            }
            let major = facts
                .driver_version()
                .and_then(|d| database().newest_cuda_of(&d.value))
                .map_or(12, |c| c.major().clamp(12, 13));
            vec![finding("PYE010", format!("numba {version} uses its built-in CUDA target, which gets no new features or fixes"))
            .because(e.site_packages.clone(), format!("numba {version}, no numba-cuda"))
            .hint(format!("pip install \"numba-cuda[cu{major}]\""))]
        },
    )
}

pub(super) fn jax_plugin(facts: &MachineFacts) -> Judgement {
    per_environment(
        facts,
        "no jaxlib was found",
        |e| e.version("jaxlib").is_some(),
        |e| {
            let Some(jaxlib) = e.version("jaxlib") else {
                return Vec::new();
            };
            let plugins: Vec<_> = e
                .packages
                .iter()
                .filter(|p| {
                    p.name.starts_with("jax-cuda")
                        && (p.name.ends_with("-plugin") || p.name.ends_with("-pjrt"))
                })
                .collect();
            let cuda = facts
                .driver_version()
                .and_then(|d| database().newest_cuda_of(&d.value))
                .map_or(12, |c| c.major().clamp(12, 13));
            let version = e.version("jax").unwrap_or(jaxlib);
            let hint = format!("pip install \"jax[cuda{cuda}]=={version}\"");
            if plugins.is_empty() {
                return vec![
                    finding(
                        "PYE011",
                        format!("jaxlib {jaxlib} has no CUDA plugin: JAX will use the CPU"),
                    )
                    .because(e.site_packages.clone(), "no jax-cuda*-plugin")
                    .hint(hint),
                ];
            }
            let other: Vec<_> = plugins
                .iter()
                .filter(|p| {
                    p.version.as_ref().is_some_and(|v| {
                        v.minor_name() != jaxlib.minor_name() || v.part(2) != jaxlib.part(2)
                    })
                })
                .collect();
            let Some(first) = other.first() else {
                return Vec::new();
            };
            vec![
                finding(
                    "PYE011",
                    format!(
                        "{} {} does not belong to jaxlib {jaxlib}",
                        first.name,
                        first
                            .version
                            .as_ref()
                            .map_or("?".into(), ToString::to_string)
                    ),
                )
                .because(
                    first.directory.clone(),
                    first
                        .version
                        .as_ref()
                        .map_or("?".into(), ToString::to_string),
                )
                .because(e.site_packages.clone(), format!("jaxlib {jaxlib}"))
                .hint(hint),
            ]
        },
    )
}

pub(super) fn tensorflow_libraries(facts: &MachineFacts) -> Judgement {
    per_environment(
        facts,
        "no TensorFlow with CUDA was found",
        |e| e.tensorflow_cuda.is_some(),
        |e| {
            let Some(cuda) = &e.tensorflow_cuda else {
                return Vec::new();
            };
            let Some(major) = Version::parse(&cuda.value).map(|v| v.major()) else {
                return Vec::new();
            };
            if runtime_majors(facts, e).contains(&major) {
                return Vec::new();
            }
            let version = e
                .version("tensorflow")
                .map_or(String::new(), |v| format!("=={v}"));
            vec![finding("PYE012", format!("TensorFlow is built for CUDA {} and its libraries are not here: it will use the CPU", cuda.value))
            .because(cuda.source.clone(), format!("CUDA {}", cuda.value))
            .hint(format!("pip install \"tensorflow[and-cuda]{version}\""))]
        },
    )
}

pub(super) fn two_onnxruntime(facts: &MachineFacts) -> Judgement {
    per_environment(
        facts,
        "no onnxruntime-gpu was found",
        |e| e.package("onnxruntime-gpu").is_some(),
        |e| {
            if e.package("onnxruntime").is_none() {
                return Vec::new();
            }
            vec![
                finding(
                    "PYE013",
                    "onnxruntime and onnxruntime-gpu overwrite each other: the CPU one may win",
                )
                .because(e.site_packages.clone(), "onnxruntime, onnxruntime-gpu")
                .hint(
                    "pip uninstall -y onnxruntime onnxruntime-gpu && pip install onnxruntime-gpu",
                ),
            ]
        },
    )
}

pub(super) fn bitsandbytes_library(facts: &MachineFacts) -> Judgement {
    per_environment(
        facts,
        "bitsandbytes does not stand beside torch with CUDA",
        |e| {
            !e.bitsandbytes_libraries.is_empty()
                && e.torch.as_ref().is_some_and(|t| t.cuda.is_some())
        },
        |e| {
            let Some(cuda) = e.torch.as_ref().and_then(|t| t.cuda.as_ref()) else {
                return Vec::new();
            };
            let wanted = format!("{}{}", cuda.major(), cuda.part(1));
            if e.bitsandbytes_libraries
                .iter()
                .any(|name| name.contains(&format!("_cuda{wanted}")))
            {
                return Vec::new();
            }
            let first = database()
                .releases("bitsandbytes")
                .into_iter()
                .rev()
                .find(|row| row.cuda_libs.contains(&wanted))
                .map(|row| row.version.clone());
            vec![
                finding(
                    "PYE014",
                    format!("bitsandbytes has no library for torch's CUDA {cuda}"),
                )
                .because(
                    format!("{}/bitsandbytes", e.site_packages),
                    e.bitsandbytes_libraries.join(", "),
                )
                .hint(match first {
                    Some(version) => format!("pip install bitsandbytes=={version}"),
                    None => "no release in the database has it: choose a torch of another CUDA"
                        .to_owned(),
                }),
            ]
        },
    )
}
