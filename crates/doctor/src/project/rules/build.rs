//! Rules about how the project is built.

use warpsmith_core::{Finding, Verdict};

use super::Check;
use super::place::{as_info, at};
use crate::architecture::{Capability, Coverage, Target, TorchArchList, cmake_architectures};
use crate::compat::database;
use crate::conclude::{not_applicable, verdict};
use crate::project::facts::{ProjectFacts, is_test};
use crate::version::{Version, VersionRange};

pub(super) const RULES: &[Check] = &[
    ("BLD001", no_arch_list),
    ("BLD002", no_ptx),
    ("BLD003", undotted),
    ("BLD004", unsupported_arch),
    ("BLD005", documented_not_built),
    ("BLD006", build_isolation),
    ("BLD007", needs_gpu),
    ("BLD008", old_standard),
    ("BLD009", removed_headers),
    ("BLD010", removed_api),
    ("BLD011", hard_coded_path),
    ("BLD012", fast_math),
    ("BLD013", find_cuda),
    ("BLD014", cmake_minimum),
    ("BLD016", python_range),
    ("BLD017", stable_abi),
];

const NO_EXTENSION: &str = "no setup.py that builds CUDA code";

/// An architecture list that stands in the project.
pub(super) struct ArchList {
    pub(super) file: String,
    pub(super) line: u32,
    pub(super) text: String,
    pub(super) coverage: Coverage,
    pub(super) undotted: Vec<String>,
    pub(super) is_torch: bool,
}

/// Every architecture list: Dockerfiles, setup.py, CMake, workflows.
pub(super) fn arch_lists(facts: &ProjectFacts) -> Vec<ArchList> {
    let mut lists = Vec::new();
    let torch = |file: &str, line: u32, text: &str| {
        let list = TorchArchList::parse(text);
        (!list.coverage.is_empty() || !list.undotted.is_empty()).then(|| ArchList {
            file: file.to_owned(),
            line,
            text: text.to_owned(),
            coverage: list.coverage,
            undotted: list.undotted,
            is_torch: true,
        })
    };
    for file in &facts.dockerfiles {
        for stage in &file.stages {
            for instruction in stage
                .instructions
                .iter()
                .filter(|i| matches!(i.keyword.as_str(), "ENV" | "ARG"))
            {
                let Some(offset) = instruction.arguments.find("TORCH_CUDA_ARCH_LIST") else {
                    continue;
                };
                let rest = &instruction.arguments[offset + "TORCH_CUDA_ARCH_LIST".len()..];
                let value = rest
                    .trim_start_matches(['=', ' '])
                    .lines()
                    .next()
                    .unwrap_or("");
                let value = match value.chars().next() {
                    Some(q @ ('"' | '\'')) => value[1..].split(q).next().unwrap_or(""),
                    _ => value.split_whitespace().next().unwrap_or(""),
                };
                lists.extend(torch(&file.path, instruction.line_at(offset), value));
            }
        }
    }
    for setup in &facts.setups {
        for (line, value) in &setup.arch_list_values {
            lists.extend(torch(&setup.path, *line, value));
        }
        if let Some(line) = setup.gencode_line.filter(|_| !setup.gencode.is_empty()) {
            lists.push(ArchList {
                file: setup.path.clone(),
                line,
                text: setup.gencode.describe(),
                coverage: setup.gencode.clone(),
                undotted: Vec::new(),
                is_torch: false,
            });
        }
    }
    for workflow in facts.workflows.iter().chain(&facts.other_ci) {
        for entry in workflow.outline.keyed("TORCH_CUDA_ARCH_LIST") {
            lists.extend(torch(&workflow.path, entry.line, &entry.value));
        }
    }
    for (path, commands) in &facts.cmake {
        for command in commands {
            let value = match command.name.as_str() {
                "set"
                    if command
                        .arguments
                        .first()
                        .is_some_and(|n| n == "CMAKE_CUDA_ARCHITECTURES") =>
                {
                    let values: Vec<_> = command.arguments[1..]
                        .iter()
                        .take_while(|a| *a != "CACHE")
                        .cloned()
                        .collect();
                    values.join(";")
                }
                "set_property" | "set_target_properties" => {
                    let Some(n) = command
                        .arguments
                        .iter()
                        .position(|a| a == "CUDA_ARCHITECTURES")
                    else {
                        continue;
                    };
                    command.arguments[n + 1..]
                        .iter()
                        .take_while(|a| a.starts_with(|c: char| c.is_ascii_digit()))
                        .cloned()
                        .collect::<Vec<_>>()
                        .join(";")
                }
                _ => continue,
            };
            let coverage = cmake_architectures(&value);
            if !coverage.is_empty() {
                lists.push(ArchList {
                    file: path.clone(),
                    line: command.line,
                    text: value,
                    coverage,
                    undotted: Vec::new(),
                    is_torch: false,
                });
            }
        }
    }
    lists
}

fn no_arch_list(facts: &ProjectFacts) -> Verdict {
    let Some(setup) = facts.extension() else {
        return not_applicable(NO_EXTENSION);
    };
    if setup.gencode_line.is_some()
        || setup.arch_list_line.is_some()
        || setup.computed_gencode
        || !arch_lists(facts).is_empty()
    {
        return Verdict::Pass;
    }
    let line = setup.cuda_extension.unwrap_or(1);
    verdict(vec![
        at("BLD001", &setup.path, line, "no architecture list: what is built depends on the builder's GPU", "CUDAExtension without gencode flags, TORCH_CUDA_ARCH_LIST is never set")
            .hint("set a default: os.environ.setdefault(\"TORCH_CUDA_ARCH_LIST\", \"7.5;8.0;8.6;8.9;9.0+PTX\")"),
    ])
}

fn no_ptx(facts: &ProjectFacts) -> Verdict {
    if facts.extension().is_none() {
        return not_applicable(NO_EXTENSION);
    }
    let lists: Vec<_> = arch_lists(facts)
        .into_iter()
        .filter(|l| !is_test(&l.file))
        .collect();
    if lists.is_empty() {
        return not_applicable("no architecture list");
    }
    // One list with PTX, or flags that add it, keeps the project open to newer GPUs.
    if facts.setups.iter().any(|s| s.emits_ptx) || lists.iter().any(|l| !l.coverage.ptx.is_empty())
    {
        return Verdict::Pass;
    }
    let list = &lists[0];
    verdict(vec![
        at(
            "BLD002",
            &list.file,
            list.line,
            "no PTX for the newest architecture: GPUs that come later cannot run this build",
            list.text.clone(),
        )
        .hint("add `+PTX` to the last entry"),
    ])
}

fn undotted(facts: &ProjectFacts) -> Verdict {
    let lists: Vec<_> = arch_lists(facts)
        .into_iter()
        .filter(|l| l.is_torch)
        .collect();
    if lists.is_empty() {
        return not_applicable("TORCH_CUDA_ARCH_LIST is never set");
    }
    let own_flags = facts
        .setups
        .iter()
        .any(|s| s.computed_gencode || s.gencode_line.is_some());
    verdict(
        lists
            .iter()
            .filter(|l| !l.undotted.is_empty())
            .map(|l| {
                let message = if own_flags {
                    "TORCH_CUDA_ARCH_LIST without dots: torch rejects it; only setup.py's own flags hide that"
                } else {
                    "TORCH_CUDA_ARCH_LIST without dots: torch raises `Unknown CUDA arch`"
                };
                at("BLD003", &l.file, l.line, message, l.text.clone()).hint(format!("write \"{}\"", TorchArchList::dotted(&l.text)))
            })
            .collect(),
    )
}

/// CUDA versions that the project pins by its base images.
pub(super) fn pinned_cuda(facts: &ProjectFacts) -> Vec<(String, u32, Version)> {
    facts
        .dockerfiles
        .iter()
        .flat_map(|file| {
            file.stages
                .iter()
                .filter_map(|s| Some((file.path.clone(), s.line, cuda_of_image(&s.base)?)))
        })
        .collect()
}

/// `nvidia/cuda:12.4.1-devel-ubuntu22.04` → 12.4.1.
pub(super) fn cuda_of_image(image: &str) -> Option<Version> {
    let (name, tag) = image.rsplit_once(':')?;
    if name.ends_with("nvidia/cuda") || name.contains("/cuda") || name == "cuda" {
        return Version::parse(tag.split('-').next()?);
    }
    // pytorch/pytorch:2.1.0-cuda12.1-cudnn8-devel
    let at = tag.find("cuda")?;
    Version::parse(tag[at + 4..].split('-').next()?)
}

fn unsupported_arch(facts: &ProjectFacts) -> Verdict {
    let lists = arch_lists(facts);
    if lists.is_empty() {
        return not_applicable("no architecture list");
    }
    let pinned = pinned_cuda(facts);
    let mut findings = Vec::new();
    for list in &lists {
        // The image that the list stands in decides; a list elsewhere is held against every CUDA
        // from 12 on, because nobody pins less than that today without saying so.
        let own = pinned
            .iter()
            .rev()
            .find(|(file, line, _)| *file == list.file && *line <= list.line);
        let gone: Vec<String> = list
            .coverage
            .cubins
            .iter()
            .filter(|target| match own {
                Some((_, _, cuda)) => database()
                    .toolkit(cuda)
                    .and_then(|row| row.sm_targets.as_ref())
                    .is_some_and(|known| {
                        !known
                            .iter()
                            .filter_map(|k| Target::parse(k))
                            .any(|k| k.capability == target.capability)
                    }),
                None => {
                    list.is_torch
                        && target.capability.major < 5
                        && pinned.iter().all(|(_, _, v)| v.major() >= 12)
                }
            })
            .map(ToString::to_string)
            .collect();
        if gone.is_empty() {
            continue;
        }
        let against = own.map_or("CUDA 12 or newer".to_owned(), |(_, _, cuda)| {
            format!("CUDA {cuda}")
        });
        findings.push(
            at(
                "BLD004",
                &list.file,
                list.line,
                format!("{} cannot be compiled by {against}", gone.join(", ")),
                list.text.clone(),
            )
            .hint("drop it, or add it only for the CUDA versions that have it"),
        );
    }
    verdict(findings)
}

/// The lowest compute capability that the documentation promises.
pub(super) fn promised_capability(facts: &ProjectFacts) -> Option<(String, u32, Capability)> {
    for document in facts.user_documents() {
        for (line, text) in document.lower() {
            let Some(position) = text.find("compute capability") else {
                continue;
            };
            let tail = &text[position..];
            let Some(start) = tail.find(|c: char| c.is_ascii_digit()) else {
                continue;
            };
            if start > 40 {
                continue;
            }
            let number: String = tail[start..]
                .chars()
                .take_while(|c| c.is_ascii_digit() || *c == '.')
                .collect();
            let after = &tail[start + number.len()..];
            let open = after.starts_with('+')
                || after.trim_start().starts_with("or ")
                || tail[..start].contains(">=")
                || tail[..start].contains('≥')
                || tail[..start].contains("minimum");
            if let Some(capability) =
                Capability::parse(number.trim_end_matches('.')).filter(|_| open)
            {
                return Some((document.path.clone(), line, capability));
            }
        }
    }
    None
}

fn documented_not_built(facts: &ProjectFacts) -> Verdict {
    let Some((document, document_line, capability)) = promised_capability(facts) else {
        return not_applicable("no lowest compute capability is documented");
    };
    let lists = arch_lists(facts);
    if lists.is_empty() {
        return not_applicable("no architecture list");
    }
    verdict(
        lists
            .iter()
            .filter(|l| !is_test(&l.file) && !l.file.starts_with(".github/"))
            .filter(|l| l.coverage.cubins.iter().map(|t| t.capability).min().is_some_and(|lowest| lowest > capability))
            .take(1)
            .map(|l| {
                at("BLD005", &l.file, l.line, format!("the documentation promises compute capability {capability} and this list does not build it"), l.text.clone())
                    .because(format!("{document}:{document_line}"), format!("compute capability {capability}"))
                    .hint("add the architecture, or raise the promise")
            })
            .collect(),
    )
}

fn build_isolation(facts: &ProjectFacts) -> Verdict {
    let with_torch: Vec<_> = facts
        .setups
        .iter()
        .filter(|s| s.imports_torch.is_some() && !is_test(&s.path))
        .collect();
    if with_torch.is_empty() {
        return not_applicable("no setup.py imports torch");
    }
    verdict(
        with_torch
            .into_iter()
            .filter_map(|setup| {
                let directory = setup.path.rsplit_once('/').map_or("", |(d, _)| d);
                let own = if directory.is_empty() { "pyproject.toml".to_owned() } else { format!("{directory}/pyproject.toml") };
                let project = facts.pyprojects.iter().find(|p| p.path == own);
                let requires = project.and_then(|p| p.build_requires.as_ref());
                if requires.is_some_and(|r| r.iter().any(|line| line.starts_with("torch"))) {
                    return None;
                }
                let line = setup.imports_torch?;
                let seen = match project {
                    None => "imports torch; there is no pyproject.toml",
                    Some(_) => "imports torch; build-system.requires does not name it",
                };
                let guarded = setup.text.contains("except ImportError") || setup.text.contains("except ModuleNotFoundError");
                let message = if guarded {
                    "setup.py uses torch without requiring it: with build isolation the CUDA code is left out silently"
                } else {
                    "setup.py needs torch and does not require it: `pip install` fails with build isolation"
                };
                Some(
                    at("BLD006", &setup.path, line, message, seen)
                        .hint("name torch in build-system.requires of pyproject.toml, or document `pip install --no-build-isolation`"),
                )
            })
            .collect(),
    )
}

fn needs_gpu(facts: &ProjectFacts) -> Verdict {
    if facts.setups.is_empty() {
        return not_applicable("no setup.py");
    }
    verdict(
        facts
            .setups
            .iter()
            .filter_map(|setup| {
                let line = setup.needs_gpu?;
                Some(
                    at("BLD007", &setup.path, line, "the build ends where no GPU is visible, as in every `docker build` and CI job", "ends when torch.cuda.is_available() is false")
                        .hint("compiling needs no GPU: ask for CUDA_HOME instead, and let FORCE_CUDA=1 override"),
                )
            })
            .collect(),
    )
}

/// The newest torch that the project allows.
pub(super) fn newest_allowed_torch(
    facts: &ProjectFacts,
) -> Option<&'static crate::compat::TorchRelease> {
    let ranges: Vec<VersionRange> = facts
        .demands()
        .filter(|r| r.name == "torch" && !r.range.is_unbounded())
        .map(|r| r.range.clone())
        .collect();
    database()
        .torch
        .iter()
        .filter(|row| ranges.iter().all(|range| range.contains(&row.torch)))
        .max_by(|a, b| a.torch.cmp(&b.torch))
}

fn old_standard(facts: &ProjectFacts) -> Verdict {
    let uses_torch = |text: &str| text.contains("torch");
    let mut findings: Vec<Finding> = Vec::new();
    let mut looked = false;
    let required = newest_allowed_torch(facts).and_then(|row| {
        let standard: u32 = row
            .cxx_standard_required
            .as_deref()?
            .trim_start_matches("c++")
            .parse()
            .ok()?;
        Some((standard, row.torch.clone()))
    });
    for setup in facts
        .setups
        .iter()
        .filter(|s| uses_torch(&s.text) || s.path.contains("binding"))
    {
        for (line, standard) in &setup.standards {
            looked = true;
            if let Some((needed, torch)) = &required
                && standard < needed
                && (*standard != 17 || *needed >= 20)
            {
                findings.push(
                    at("BLD008", &setup.path, *line, format!("-std=c++{standard} is too old for torch {torch}, which needs C++{needed}"), format!("-std=c++{standard}"))
                        .hint(format!("remove the flag (torch adds its own), or raise it to c++{needed}; or require torch below the release that raised it")),
                );
            }
        }
    }
    for (path, commands) in &facts.cmake {
        for command in commands {
            let flag = command.arguments.iter().find_map(|a| {
                let digits: String = a
                    .split("-std=c++")
                    .nth(1)?
                    .chars()
                    .take_while(char::is_ascii_digit)
                    .collect();
                digits.parse::<u32>().ok()
            });
            if let (Some(standard), Some((needed, torch))) = (flag, &required)
                && standard < 17
                && (path.contains("torch")
                    || path.contains("binding")
                    || facts.extension().is_some())
            {
                looked = true;
                findings.push(
                    at("BLD008", path, command.line, format!("-std=c++{standard} is too old for torch {torch}, which needs C++{needed}"), format!("-std=c++{standard}"))
                        .hint("set CMAKE_CXX_STANDARD and CMAKE_CUDA_STANDARD instead"),
                );
            }
        }
    }
    if !looked {
        return not_applicable("no C++ standard flag beside torch");
    }
    verdict(findings)
}

fn removed_headers(facts: &ProjectFacts) -> Verdict {
    let mut torch = false;
    let mut findings = Vec::new();
    for file in facts.cuda.iter().chain(&facts.cxx) {
        torch |= file.uses_torch;
        for include in &file.includes {
            if matches!(
                include.name.as_str(),
                "THC/THC.h"
                    | "TH/TH.h"
                    | "THC/THCGeneral.h"
                    | "THC/THCTensor.h"
                    | "THC/THCNumerics.cuh"
            ) {
                findings.push(
                    at("BLD009", &file.path, include.line, format!("`{}` is gone from torch since 1.11", include.name), include.name.clone())
                        .hint("use ATen: at::cuda::getCurrentCUDAStream, c10::cuda::CUDACachingAllocator; THC/THCAtomics.cuh still exists"),
                );
            }
        }
    }
    if !torch && findings.is_empty() {
        return not_applicable("no torch extension code");
    }
    verdict(findings)
}

fn removed_api(facts: &ProjectFacts) -> Verdict {
    const OLD: [(&str, &str); 3] = [
        ("AT_CHECK", "TORCH_CHECK"),
        ("AT_ASSERTM", "TORCH_CHECK"),
        ("THCState", "at::cuda"),
    ];
    let mut torch = false;
    let mut findings = Vec::new();
    for file in facts.cuda.iter().chain(&facts.cxx) {
        torch |= file.uses_torch;
        // A project that defines the name itself keeps working.
        for mention in &file.mentions {
            if let Some((old, new)) = OLD.iter().find(|(old, _)| mention.name == *old)
                && !file.macros.iter().any(|(name, _)| name == old)
            {
                findings.push(
                    at(
                        "BLD010",
                        &file.path,
                        mention.line,
                        format!("{old} is gone from torch's C++ API"),
                        *old,
                    )
                    .hint(format!("write {new}")),
                );
            }
        }
    }
    if !torch {
        return not_applicable("no torch extension code");
    }
    verdict(findings)
}

fn hard_coded_path(facts: &ProjectFacts) -> Verdict {
    if facts.setups.is_empty() && facts.cmake.is_empty() {
        return not_applicable("neither setup.py nor CMake");
    }
    let from_setup = facts
        .setups
        .iter()
        .filter_map(|s| Some((s.path.as_str(), s.cuda_path_line?)));
    let from_cmake = facts.cmake.iter().flat_map(|(path, commands)| {
        commands
            .iter()
            .filter(|c| {
                matches!(
                    c.name.as_str(),
                    "include_directories"
                        | "link_directories"
                        | "target_include_directories"
                        | "set"
                )
            })
            .filter(|c| c.arguments.iter().any(|a| a.starts_with("/usr/local/cuda")))
            .map(|c| (path.as_str(), c.line))
    });
    verdict(
        from_setup
            .chain(from_cmake)
            .map(|(path, line)| {
                at(
                    "BLD011",
                    path,
                    line,
                    "a CUDA path is written down: builds fail where CUDA lies elsewhere",
                    "/usr/local/cuda",
                )
                .hint("use CUDA_HOME from torch.utils.cpp_extension, or find_package(CUDAToolkit)")
            })
            .collect(),
    )
}

fn fast_math(facts: &ProjectFacts) -> Verdict {
    if facts.setups.is_empty() && facts.cmake.is_empty() {
        return not_applicable("neither setup.py nor CMake");
    }
    verdict(
        facts
            .setups
            .iter()
            .filter_map(|s| {
                let line = s.fast_math_line?;
                Some(at("BLD012", &s.path, line, "--use_fast_math flushes denormals and approximates division and square roots", "--use_fast_math").hint("say so in the documentation, or use intrinsics where it matters"))
            })
            .collect(),
    )
}

fn find_cuda(facts: &ProjectFacts) -> Verdict {
    if facts.cmake.is_empty() || !facts.has_cuda() {
        return not_applicable("no CMake with CUDA code");
    }
    let mut findings = Vec::new();
    for (path, commands) in &facts.cmake {
        let mut conditions: Vec<bool> = Vec::new();
        for command in commands {
            match command.name.as_str() {
                // A choice that the user makes is not a default.
                "if" => conditions.push(
                    command
                        .arguments
                        .iter()
                        .any(|a| a.contains("CMAKE_CUDA_ARCHITECTURES")),
                ),
                "endif" => {
                    conditions.pop();
                }
                _ => {}
            }
            let first = command.arguments.first().map(String::as_str);
            if command.name == "find_package" && first == Some("CUDA") {
                findings.push(
                    at(
                        "BLD013",
                        path,
                        command.line,
                        "FindCUDA was removed in CMake 3.27",
                        "find_package(CUDA)",
                    )
                    .hint("enable_language(CUDA) and find_package(CUDAToolkit)"),
                );
            }
            if command.name == "set"
                && conditions.iter().all(|c| *c)
                && first == Some("CMAKE_CUDA_ARCHITECTURES")
                && command.arguments.get(1).is_some_and(|a| a == "native")
            {
                findings.push(
                    at(
                        "BLD013",
                        path,
                        command.line,
                        "`native` builds for the builder's GPU only, and fails without one",
                        "CMAKE_CUDA_ARCHITECTURES native",
                    )
                    .hint("name the architectures, or `all-major`"),
                );
            }
        }
    }
    verdict(findings)
}

fn cmake_minimum(facts: &ProjectFacts) -> Verdict {
    if facts.cmake.is_empty() {
        return not_applicable("no CMake");
    }
    let mut findings = Vec::new();
    for (path, commands) in facts.cmake.iter().filter(|(p, _)| !is_test(p)) {
        let cuda = commands.iter().any(|c| {
            (matches!(c.name.as_str(), "project" | "enable_language"))
                && c.arguments.iter().any(|a| a == "CUDA")
        });
        for command in commands
            .iter()
            .filter(|c| c.name == "cmake_minimum_required")
        {
            let Some(text) = command.arguments.get(1) else {
                continue;
            };
            // `3.10...3.27` asks for the policies of the second.
            let newest = text.rsplit("...").next().unwrap_or(text);
            let Some(version) = Version::parse(newest) else {
                continue;
            };
            let floor = if cuda { "3.18" } else { "3.5" };
            if Version::parse(floor).is_some_and(|f| version < f) {
                findings.push(
                    at(
                        "BLD014",
                        path,
                        command.line,
                        format!(
                            "cmake_minimum_required({version}) is below {floor}{}",
                            if cuda {
                                ", the first with CMAKE_CUDA_ARCHITECTURES"
                            } else {
                                ", which CMake 4 no longer accepts"
                            }
                        ),
                        text.clone(),
                    )
                    .hint(format!("raise it to {floor}")),
                );
            }
        }
    }
    verdict(findings)
}

fn python_range(facts: &ProjectFacts) -> Verdict {
    let range = facts
        .setups
        .iter()
        .filter(|s| s.requirements.iter().any(|r| r.name == "torch"))
        .find_map(|s| {
            s.python_requires
                .clone()
                .map(|(r, l)| (s.path.clone(), r, l))
        })
        .or_else(|| {
            facts
                .pyprojects
                .iter()
                .filter(|p| p.dependencies.iter().any(|r| r.name == "torch"))
                .find_map(|p| {
                    p.requires_python
                        .clone()
                        .map(|(r, l)| (p.path.clone(), r, l))
                })
        });
    let Some((file, text, line)) = range else {
        return not_applicable("no Python range beside a torch requirement");
    };
    let Some(torch) = newest_allowed_torch(facts) else {
        return not_applicable("the torch range holds no release in the database");
    };
    let python = VersionRange::parse(&text);
    let missing: Vec<String> = (8..=14)
        .filter_map(|minor| Version::parse(&format!("3.{minor}")))
        .filter(|version| python.contains(version))
        .filter(|version| {
            let tag = format!("cp3{}", version.part(1));
            let any = database()
                .torch
                .iter()
                .filter(|row| {
                    facts
                        .demands()
                        .filter(|r| r.name == "torch")
                        .all(|r| r.range.contains(&row.torch))
                })
                .any(|row| row.python_tags_linux_x86_64.contains(&tag));
            !any
        })
        .map(|v| v.to_string())
        .collect();
    // An open range promises Pythons that do not exist yet; only those that do are held against it.
    if missing.is_empty() {
        return Verdict::Pass;
    }
    verdict(vec![
        at(
            "BLD016",
            &file,
            line,
            format!(
                "Python {} has no wheel of any torch that the range allows",
                missing.join(", ")
            ),
            text,
        )
        .because(
            "newest torch in the range",
            format!(
                "{} ({})",
                torch.torch,
                torch.python_tags_linux_x86_64.join(", ")
            ),
        )
        .hint("narrow python_requires, or widen the torch range"),
    ])
}

fn stable_abi(facts: &ProjectFacts) -> Verdict {
    let Some(setup) = facts.extension() else {
        return not_applicable(NO_EXTENSION);
    };
    let pybind = facts
        .cuda
        .iter()
        .chain(&facts.cxx)
        .any(|f| f.mentions.iter().any(|m| m.name == "PYBIND11_MODULE"));
    let library = facts
        .cuda
        .iter()
        .chain(&facts.cxx)
        .any(|f| f.mentions.iter().any(|m| m.name == "TORCH_LIBRARY"));
    if pybind || !library {
        return not_applicable("the extension binds with pybind11");
    }
    let line = setup.cuda_extension.unwrap_or(1);
    verdict(vec![as_info(
        at(
            "BLD017",
            &setup.path,
            line,
            "one wheel could serve several Python and torch versions",
            "TORCH_LIBRARY without pybind11",
        )
        .hint("see TORCH_TARGET_VERSION and py_limited_api in torch 2.10 and newer"),
    )])
}
