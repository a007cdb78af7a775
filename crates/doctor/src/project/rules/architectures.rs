//! Rules about the GPU architectures that a project builds for: its lists, PTX for what comes later,
//! and what the documentation promises.

use super::Check;
use super::place::at;
use crate::conclude::{Judgement, applies, not_applicable, pass};
use crate::project::arch_list;
use crate::project::facts::{ProjectFacts, is_test};
use warpsmith_compatibility::Version;
use warpsmith_compatibility::database;
use warpsmith_compatibility::{Capability, Coverage, Target, TorchArchList, cmake_architectures};

pub(super) const RULES: &[Check] = &[
    ("BLD001", no_arch_list),
    ("BLD002", no_ptx),
    ("BLD003", undotted),
    ("BLD004", unsupported_arch),
    ("BLD005", documented_not_built),
];

const NO_EXTENSION: &str = "no setup.py that builds CUDA code";

/// An architecture list that stands in the project.
pub(crate) struct ArchList {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) text: String,
    pub(crate) coverage: Coverage,
    pub(crate) undotted: Vec<String>,
    pub(crate) is_torch: bool,
}

/// Every architecture list: Dockerfiles, setup.py, CMake, workflows.
pub(crate) fn arch_lists(facts: &ProjectFacts) -> Vec<ArchList> {
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

fn no_arch_list(facts: &ProjectFacts) -> Judgement {
    let Some(setup) = facts.extension() else {
        return not_applicable(NO_EXTENSION);
    };
    if setup.gencode_line.is_some()
        || setup.arch_list_line.is_some()
        || setup.computed_gencode
        || setup.text.contains("-arch=")
        || !arch_lists(facts).is_empty()
        || facts
            .scripts
            .iter()
            .any(|(_, text)| text.contains("TORCH_CUDA_ARCH_LIST"))
    {
        return pass();
    }
    let line = setup.cuda_extension.unwrap_or(1);
    let hint = match arch_list::list_for(facts) {
        Some(proposed) => format!(
            "set a default: os.environ.setdefault(\"TORCH_CUDA_ARCH_LIST\", \"{}\"), {}",
            proposed.list,
            proposed.evidence()
        ),
        None => "set a default for TORCH_CUDA_ARCH_LIST: the architectures that you support, `+PTX` behind the last".to_owned(),
    };
    Ok(vec![
        at(
            "BLD001",
            &setup.path,
            line,
            "no architecture list: what is built depends on the builder's GPU",
            "CUDAExtension without gencode flags, TORCH_CUDA_ARCH_LIST is never set",
        )
        .hint(hint),
    ])
}

fn no_ptx(facts: &ProjectFacts) -> Judgement {
    applies(facts.extension().is_some(), NO_EXTENSION)?;
    let lists: Vec<_> = arch_lists(facts)
        .into_iter()
        .filter(|l| !is_test(&l.file))
        .collect();
    applies(!lists.is_empty(), "no architecture list")?;
    // One list with PTX, or flags that add it, keeps the project open to newer GPUs.
    if facts.setups.iter().any(|s| s.emits_ptx) || lists.iter().any(|l| !l.coverage.ptx.is_empty())
    {
        return pass();
    }
    let list = &lists[0];
    Ok(vec![
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

fn undotted(facts: &ProjectFacts) -> Judgement {
    let lists: Vec<_> = arch_lists(facts)
        .into_iter()
        .filter(|l| l.is_torch)
        .collect();
    applies(!lists.is_empty(), "TORCH_CUDA_ARCH_LIST is never set")?;
    let own_flags = facts
        .setups
        .iter()
        .any(|s| s.computed_gencode || s.gencode_line.is_some());
    Ok(
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
pub(crate) fn pinned_cuda(facts: &ProjectFacts) -> Vec<(String, u32, Version)> {
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
pub(crate) fn cuda_of_image(image: &str) -> Option<Version> {
    // A digest behind the tag has a colon of its own.
    let (name, tag) = image.split('@').next()?.rsplit_once(':')?;
    if name.ends_with("nvidia/cuda") || name.contains("/cuda") || name == "cuda" {
        return Version::parse(tag.split('-').next()?);
    }
    // pytorch/pytorch:2.1.0-cuda12.1-cudnn8-devel
    let at = tag.find("cuda")?;
    Version::parse(tag[at + 4..].split('-').next()?)
}

fn unsupported_arch(facts: &ProjectFacts) -> Judgement {
    let lists = arch_lists(facts);
    applies(!lists.is_empty(), "no architecture list")?;
    let pinned = pinned_cuda(facts);
    let mut findings = Vec::new();
    for list in &lists {
        // The image that the list stands in decides; a list elsewhere is compared with every CUDA
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
    Ok(findings)
}

/// What says what changed once; it promises nothing of today's program.
fn is_history(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let starts = ["changelog", "changes", "history", "news", "release"];
    starts.iter().any(|start| name.starts_with(start))
}

/// The lowest compute capability that the documentation promises.
pub(super) fn promised_capability(facts: &ProjectFacts) -> Option<(String, u32, Capability)> {
    for document in facts.user_documents().filter(|d| !is_history(&d.path)) {
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

fn documented_not_built(facts: &ProjectFacts) -> Judgement {
    let Some((document, document_line, capability)) = promised_capability(facts) else {
        return not_applicable("no lowest compute capability is documented");
    };
    let lists = arch_lists(facts);
    applies(!lists.is_empty(), "no architecture list")?;
    // Lists of one file stand in its branches, of which one is taken on each machine.
    let lowest = |file: &str| {
        let of_file = lists.iter().filter(|l| l.file == file);
        let built = of_file.flat_map(|l| &l.coverage.cubins);
        built.map(|t| t.capability).min()
    };
    Ok(
        lists
            .iter()
            .filter(|l| !is_test(&l.file) && !l.file.starts_with(".github/"))
            .filter(|l| !l.coverage.cubins.is_empty())
            .filter(|l| lowest(&l.file).is_some_and(|lowest| lowest > capability))
            .take(1)
            .map(|l| {
                at("BLD005", &l.file, l.line, format!("the documentation promises compute capability {capability} and this list does not build it"), l.text.clone())
                    .because(format!("{document}:{document_line}"), format!("compute capability {capability}"))
                    .hint("add the architecture, or raise the promise")
            })
            .collect(),
    )
}
