//! Rules about Python environments: torch and what was compiled for it against what is here.

use warpsmith_core::Finding;

use super::evidence::{capabilities, driver};
use super::{Check, anywhere, frameworks, on_gpu};
use crate::conclude::{Judgement, applies, finding, unknown};
use crate::machine::facts::{MachineFacts, PythonEnvironment, TorchInstall};
use warpsmith_compatibility::Runs;
use warpsmith_compatibility::Version;
use warpsmith_compatibility::database;

pub(super) const RULES: &[Check] = &[
    anywhere("PYE001", no_wheel_for_python),
    on_gpu("PYE002", cpu_only_torch),
    on_gpu("PYE003", framework_newer_than_driver),
    on_gpu("PYE004", no_code_for_gpu),
    anywhere("PYE005", companions),
    anywhere("PYE006", triton_pin),
    anywhere("PYE007", frameworks::two_cupy),
    on_gpu("PYE008", frameworks::cupy_libraries),
    on_gpu("PYE009", frameworks::numba_nvvm),
    on_gpu("PYE010", frameworks::numba_builtin_target),
    on_gpu("PYE011", frameworks::jax_plugin),
    on_gpu("PYE012", frameworks::tensorflow_libraries),
    anywhere("PYE013", frameworks::two_onnxruntime),
    anywhere("PYE014", frameworks::bitsandbytes_library),
    anywhere("PYE015", extension_abi),
    on_gpu("PYE016", extension_without_code),
    anywhere("PYE017", user_site),
    anywhere("PYE018", conda_and_pip),
    anywhere("PYE019", pynvml),
    anywhere("PYE020", numpy_two),
];

/// Runs `each` over every environment that `has` what the rule is about.
pub(super) fn per_environment(
    facts: &MachineFacts,
    absent: &str,
    has: impl Fn(&PythonEnvironment) -> bool,
    each: impl Fn(&PythonEnvironment) -> Vec<Finding>,
) -> Judgement {
    let chosen: Vec<_> = facts.environments.iter().filter(|e| has(e)).collect();
    applies(!chosen.is_empty(), absent)?;
    Ok(chosen.into_iter().flat_map(each).collect())
}

fn torch_of(environment: &PythonEnvironment) -> Option<(&TorchInstall, &Version)> {
    let torch = environment.torch.as_ref()?;
    Some((torch, torch.version.as_ref()?))
}

fn python_tag(environment: &PythonEnvironment) -> Option<String> {
    let python = environment.python.as_ref()?;
    Some(format!("cp{}{}", python.major(), python.part(1)))
}

/// The line that installs a torch which runs on this machine's weakest GPU.
pub(super) fn torch_advice(facts: &MachineFacts, environment: &PythonEnvironment) -> String {
    let Some(device) = facts.capabilities().into_iter().map(|(_, c)| c).min() else {
        return "choose a build for your GPU and driver on pytorch.org".to_owned();
    };
    let tag = python_tag(environment);
    let driver = facts.driver_version().map(|d| &d.value);
    match database().torch_for(device, driver, tag.as_deref()) {
        Some(row) => format!(
            "pip install --force-reinstall torch=={}  # PyPI build: CUDA {}, has machine code for compute capability {device}",
            row.torch,
            row.pypi_cuda.as_deref().unwrap_or("unknown"),
        ),
        None => format!(
            "no torch on PyPI has code for compute capability {device} with this driver and Python: build from source, or change one of them"
        ),
    }
}

fn no_wheel_for_python(facts: &MachineFacts) -> Judgement {
    per_environment(
        facts,
        "no torch was found",
        |e| torch_of(e).is_some() && e.python.is_some(),
        |e| {
            let (Some((torch, version)), Some(tag)) = (torch_of(e), python_tag(e)) else {
                return Vec::new();
            };
            let Some(row) = database().torch(version) else {
                return Vec::new();
            };
            if row.python_tags_linux_x86_64.is_empty()
                || row.python_tags_linux_x86_64.contains(&tag)
            {
                return Vec::new();
            }
            vec![finding("PYE001", format!("torch {version} has no wheel for Python {}", e.python.as_ref().map_or(String::new(), Version::minor_name)))
                .because(torch.source.clone(), version.to_string())
                .because("wheels on PyPI", row.python_tags_linux_x86_64.join(", "))
                .hint("use a Python that the release has wheels for; a copied environment does not load")]
        },
    )
}

fn cpu_only_torch(facts: &MachineFacts) -> Judgement {
    per_environment(
        facts,
        "no torch was found",
        |e| e.torch.is_some(),
        |e| {
            let Some((torch, version)) = torch_of(e).filter(|(t, _)| t.cuda.is_none()) else {
                return Vec::new();
            };
            vec![
                finding(
                    "PYE002",
                    format!("torch {version} is a CPU build on a machine with a GPU"),
                )
                .because(torch.source.clone(), "cuda = None")
                .hint(torch_advice(facts, e)),
            ]
        },
    )
}

fn framework_newer_than_driver(facts: &MachineFacts) -> Judgement {
    let driver = driver(facts)?;
    per_environment(
        facts,
        "no framework with CUDA was found",
        |e| e.torch.as_ref().is_some_and(|t| t.cuda.is_some()) || e.tensorflow_cuda.is_some(),
        |e| {
            let torch = e
                .torch
                .as_ref()
                .and_then(|t| Some(("torch", t.cuda.clone()?, t.source.clone())));
            let tensorflow = e
                .tensorflow_cuda
                .as_ref()
                .and_then(|s| Some(("tensorflow", Version::parse(&s.value)?, s.source.clone())));
            [torch, tensorflow]
                .into_iter()
                .flatten()
                .filter_map(|(name, cuda, source)| {
                    let floor = database().driver_floor(cuda.major())?;
                    (driver.value < *floor).then(|| {
                        finding("PYE003", format!("{name} is built for CUDA {cuda}, which needs driver {floor}; here is {}", driver.value))
                            .because(source, format!("CUDA {cuda}"))
                            .because(driver.source.clone(), driver.value.to_string())
                            .hint(format!("upgrade the driver to {floor} or newer, or: {}", torch_advice(facts, e)))
                    })
                })
                .collect()
        },
    )
}

fn no_code_for_gpu(facts: &MachineFacts) -> Judgement {
    let capabilities = capabilities(facts)?;
    let with_cuda = |e: &PythonEnvironment| e.torch.as_ref().is_some_and(|t| t.cuda.is_some());
    if facts
        .environments
        .iter()
        .any(|e| with_cuda(e) && e.torch.as_ref().is_some_and(|t| t.coverage.is_none()))
    {
        return unknown("libtorch_cuda.so could not be read");
    }
    per_environment(facts, "no torch with CUDA was found", with_cuda, |e| {
        let Some((torch, version)) = torch_of(e) else {
            return Vec::new();
        };
        let Some(coverage) = &torch.coverage else {
            return Vec::new();
        };
        capabilities
            .iter()
            .filter_map(|(gpu, capability)| match coverage.runs_on(*capability) {
                Runs::No(why) => Some(
                    finding(
                        "PYE004",
                        format!(
                            "torch {version} has no code for {}: `no kernel image is available`",
                            gpu.name
                        ),
                    )
                    .because(
                        format!("{}/torch/lib/libtorch_cuda.so", e.site_packages),
                        why,
                    )
                    .because(
                        gpu.source.clone(),
                        format!("compute capability {capability}"),
                    )
                    .hint(torch_advice(facts, e)),
                ),
                _ => None,
            })
            .collect()
    })
}

fn companions(facts: &MachineFacts) -> Judgement {
    per_environment(
        facts,
        "neither torchvision nor torchaudio stands beside torch",
        |e| {
            e.version("torch").is_some()
                && (e.package("torchvision").is_some() || e.package("torchaudio").is_some())
        },
        |e| {
            let torch = e.version("torch").cloned();
            ["torchvision", "torchaudio"]
                .iter()
                .filter_map(|name| {
                    let version = e.version(name)?;
                    let range = database().torch_pin(name, version)?;
                    let torch = torch.as_ref()?;
                    if range.is_unbounded() || range.contains(torch) {
                        return None;
                    }
                    let right = database()
                        .releases(name)
                        .into_iter()
                        .filter(|row| database().torch_pin(name, &row.version).is_some_and(|r| r.contains(torch)))
                        .max_by(|a, b| a.version.cmp(&b.version));
                    Some(
                        finding("PYE005", format!("{name} {version} belongs to torch{range}, installed is torch {torch}"))
                            .because(e.site_packages.clone(), format!("torch {torch}, {name} {version}"))
                            .hint(match right {
                                Some(row) => format!("pip install {name}=={}", row.version),
                                None => format!("no {name} in the database belongs to torch {torch}"),
                            }),
                    )
                })
                .collect()
        },
    )
}

fn triton_pin(facts: &MachineFacts) -> Judgement {
    per_environment(
        facts,
        "triton does not stand beside torch",
        |e| e.version("torch").is_some() && e.version("triton").is_some(),
        |e| {
            let (Some(torch), Some(triton)) = (e.version("torch"), e.version("triton")) else {
                return Vec::new();
            };
            let Some(pin) = database().torch(torch).and_then(|row| row.triton.clone()) else {
                return Vec::new();
            };
            if pin.cmp(triton).is_eq() {
                return Vec::new();
            }
            vec![
                finding(
                    "PYE006",
                    format!("triton {triton} is not the {pin} that torch {torch} pins"),
                )
                .because(e.site_packages.clone(), format!("triton {triton}"))
                .hint(format!("pip install triton=={pin}")),
            ]
        },
    )
}

fn extension_abi(facts: &MachineFacts) -> Judgement {
    per_environment(
        facts,
        "no extension that names its torch was found",
        |e| {
            torch_of(e).is_some()
                && e.packages
                    .iter()
                    .any(|p| built_for(p.version.as_ref()).is_some())
        },
        |e| {
            let Some((_, torch)) = torch_of(e) else {
                return Vec::new();
            };
            e.packages
                .iter()
                .filter_map(|p| {
                    let wanted = built_for(p.version.as_ref())?;
                    (wanted.minor_name() != torch.minor_name()).then(|| {
                        finding("PYE015", format!("{} was built for torch {wanted}, installed is {torch}: `undefined symbol`", p.name))
                            .because(p.directory.clone(), p.version.as_ref().map_or(String::new(), ToString::to_string))
                            .hint(format!("install the build of {} for torch {}, or build it here", p.name, torch.minor_name()))
                    })
                })
                .collect()
        },
    )
}

/// `2.7.4+cu12torch2.5cxx11abiFALSE` → 2.5.
fn built_for(version: Option<&Version>) -> Option<Version> {
    let local = version?.local()?;
    let rest = &local[local.find("torch")? + 5..];
    let end = rest
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(rest.len());
    Version::parse(rest[..end].trim_end_matches('.'))
}

fn extension_without_code(facts: &MachineFacts) -> Judgement {
    let capabilities = capabilities(facts)?;
    // Frameworks' own libraries have rules of their own, and NVIDIA's carry code per library.
    let extension = |package: &str| {
        !matches!(
            package,
            "torch" | "nvidia" | "triton" | "jaxlib" | "tensorflow"
        )
    };
    per_environment(
        facts,
        "no extension with GPU code was found",
        |e| {
            e.binaries
                .iter()
                .any(|b| b.coverage.is_some() && extension(&b.package))
        },
        |e| {
            e.binaries
                .iter()
                .filter(|b| extension(&b.package))
                .filter_map(|b| {
                    let coverage = b.coverage.as_ref().filter(|c| !c.is_empty())?;
                    let (gpu, capability, why) =
                        capabilities
                            .iter()
                            .find_map(|(gpu, c)| match coverage.runs_on(*c) {
                                Runs::No(why) => Some((gpu, c, why)),
                                _ => None,
                            })?;
                    Some(
                        finding(
                            "PYE016",
                            format!(
                                "{} has no code for {}",
                                b.path.rsplit('/').next().unwrap_or(&b.path),
                                gpu.name
                            ),
                        )
                        .because(b.path.clone(), why)
                        .hint(format!(
                            "rebuild {} with TORCH_CUDA_ARCH_LIST=\"{capability}\"",
                            b.package
                        )),
                    )
                })
                .collect()
        },
    )
}

fn user_site(facts: &MachineFacts) -> Judgement {
    per_environment(
        facts,
        "no user site is in use",
        |e| e.user_site.is_some(),
        |e| {
            let twice: Vec<_> = e
                .user_site_packages
                .iter()
                .filter(|name| e.package(name).is_some() && name.starts_with(['t', 'n', 'c', 'j']))
                .filter(|name| {
                    [
                        "torch",
                        "nvidia-",
                        "cupy",
                        "jax",
                        "triton",
                        "tensorflow",
                        "numba",
                    ]
                    .iter()
                    .any(|s| name.starts_with(s))
                })
                .cloned()
                .collect();
            let Some(first) = twice.first() else {
                return Vec::new();
            };
            vec![
                finding(
                    "PYE017",
                    format!(
                        "{} packages are in the user's site and in the environment; the user's win",
                        twice.len()
                    ),
                )
                .because(e.user_site.clone().unwrap_or_default(), twice.join(", "))
                .because(e.site_packages.clone(), first.clone())
                .hint("remove one of them, or set PYTHONNOUSERSITE=1"),
            ]
        },
    )
}

fn conda_and_pip(facts: &MachineFacts) -> Judgement {
    per_environment(
        facts,
        "no conda environment",
        |e| !e.conda_packages.is_empty(),
        |e| {
            let wheels: Vec<_> = e
                .packages
                .iter()
                .filter(|p| p.name.starts_with("nvidia-c"))
                .map(|p| p.name.as_str())
                .collect();
            if wheels.is_empty() {
                return Vec::new();
            }
            vec![
                finding(
                    "PYE018",
                    "conda's CUDA packages and pip's NVIDIA wheels are in one environment",
                )
                .because("conda-meta", e.conda_packages.join(", "))
                .because(e.site_packages.clone(), wheels.join(", "))
                .hint("keep one source of CUDA libraries per environment"),
            ]
        },
    )
}

fn pynvml(facts: &MachineFacts) -> Judgement {
    per_environment(
        facts,
        "no pynvml was found",
        |e| e.package("pynvml").is_some(),
        |e| {
            // From 12 on, pynvml is a wrapper that itself requires nvidia-ml-py.
            if e.package("nvidia-ml-py").is_none()
                || e.version("pynvml").is_some_and(|v| v.major() >= 12)
            {
                return Vec::new();
            }
            vec![
                finding(
                    "PYE019",
                    "the deprecated pynvml shadows nvidia-ml-py, which has the same module name",
                )
                .because(e.site_packages.clone(), "pynvml, nvidia-ml-py")
                .hint("pip uninstall -y pynvml && pip install --force-reinstall nvidia-ml-py"),
            ]
        },
    )
}

fn numpy_two(facts: &MachineFacts) -> Judgement {
    let first = Version::parse("2.3");
    per_environment(
        facts,
        "numpy does not stand beside torch",
        |e| torch_of(e).is_some() && e.version("numpy").is_some(),
        |e| {
            let (Some((torch, version)), Some(numpy)) = (torch_of(e), e.version("numpy")) else {
                return Vec::new();
            };
            if numpy.major() < 2 || first.as_ref().is_some_and(|f| version >= f) {
                return Vec::new();
            }
            vec![
                finding(
                    "PYE020",
                    format!("torch {version} was built for numpy 1, installed is numpy {numpy}"),
                )
                .because(torch.source.clone(), version.to_string())
                .hint("pip install \"numpy<2\""),
            ]
        },
    )
}
