//! Rules about Python environments: what frameworks were built for against what is here.

use warpsmith_core::{Finding, Verdict};

use super::Check;
use super::presence::without_gpu;
use crate::architecture::Runs;
use crate::compat::database;
use crate::conclude::{finding, not_applicable, unknown, verdict};
use crate::machine::facts::{MachineFacts, PythonEnvironment, TorchInstall};
use crate::version::Version;

pub(super) const RULES: &[Check] = &[
    ("PYE001", no_wheel_for_python),
    ("PYE002", cpu_only_torch),
    ("PYE003", framework_newer_than_driver),
    ("PYE004", no_code_for_gpu),
    ("PYE005", companions),
    ("PYE006", triton_pin),
    ("PYE007", two_cupy),
    ("PYE008", cupy_libraries),
    ("PYE009", numba_nvvm),
    ("PYE010", numba_builtin_target),
    ("PYE011", jax_plugin),
    ("PYE012", tensorflow_libraries),
    ("PYE013", two_onnxruntime),
    ("PYE014", bitsandbytes_library),
    ("PYE015", extension_abi),
    ("PYE016", extension_without_code),
    ("PYE017", user_site),
    ("PYE018", conda_and_pip),
    ("PYE019", pynvml),
    ("PYE020", numpy_two),
];

/// Runs `each` over every environment in which `applies` says so.
fn per_environment(
    facts: &MachineFacts,
    absent: &str,
    applies: impl Fn(&PythonEnvironment) -> bool,
    each: impl Fn(&PythonEnvironment) -> Vec<Finding>,
) -> Verdict {
    let chosen: Vec<_> = facts.environments.iter().filter(|e| applies(e)).collect();
    if chosen.is_empty() {
        return not_applicable(absent);
    }
    verdict(chosen.into_iter().flat_map(each).collect())
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

fn no_wheel_for_python(facts: &MachineFacts) -> Verdict {
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

fn cpu_only_torch(facts: &MachineFacts) -> Verdict {
    if let Some(verdict) = without_gpu(facts) {
        return verdict;
    }
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

fn framework_newer_than_driver(facts: &MachineFacts) -> Verdict {
    if let Some(verdict) = without_gpu(facts) {
        return verdict;
    }
    let Some(driver) = facts.driver_version() else {
        return unknown("the driver version is not known");
    };
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

fn no_code_for_gpu(facts: &MachineFacts) -> Verdict {
    if let Some(verdict) = without_gpu(facts) {
        return verdict;
    }
    let capabilities = facts.capabilities();
    if capabilities.is_empty() {
        return unknown("the GPU's compute capability is not known");
    }
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

fn companions(facts: &MachineFacts) -> Verdict {
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

fn triton_pin(facts: &MachineFacts) -> Verdict {
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

fn cupy_packages(e: &PythonEnvironment) -> Vec<&str> {
    e.packages
        .iter()
        .map(|p| p.name.as_str())
        .filter(|name| {
            *name == "cupy" || name.starts_with("cupy-cuda") || name.starts_with("cupy-rocm")
        })
        .collect()
}

fn two_cupy(facts: &MachineFacts) -> Verdict {
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

fn cupy_libraries(facts: &MachineFacts) -> Verdict {
    if let Some(verdict) = without_gpu(facts) {
        return verdict;
    }
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

fn numba_nvvm(facts: &MachineFacts) -> Verdict {
    if let Some(verdict) = without_gpu(facts) {
        return verdict;
    }
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

fn numba_builtin_target(facts: &MachineFacts) -> Verdict {
    if let Some(verdict) = without_gpu(facts) {
        return verdict;
    }
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

fn jax_plugin(facts: &MachineFacts) -> Verdict {
    if let Some(verdict) = without_gpu(facts) {
        return verdict;
    }
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

fn tensorflow_libraries(facts: &MachineFacts) -> Verdict {
    if let Some(verdict) = without_gpu(facts) {
        return verdict;
    }
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

fn two_onnxruntime(facts: &MachineFacts) -> Verdict {
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

fn bitsandbytes_library(facts: &MachineFacts) -> Verdict {
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

fn extension_abi(facts: &MachineFacts) -> Verdict {
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

fn extension_without_code(facts: &MachineFacts) -> Verdict {
    if let Some(verdict) = without_gpu(facts) {
        return verdict;
    }
    let capabilities = facts.capabilities();
    if capabilities.is_empty() {
        return unknown("the GPU's compute capability is not known");
    }
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

fn user_site(facts: &MachineFacts) -> Verdict {
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

fn conda_and_pip(facts: &MachineFacts) -> Verdict {
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

fn pynvml(facts: &MachineFacts) -> Verdict {
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

fn numpy_two(facts: &MachineFacts) -> Verdict {
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
