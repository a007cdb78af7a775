//! Rules about requirements: ranges resolved to what pip would take.

use warpsmith_core::Finding;

use super::Check;
use super::architectures::cuda_of_image;
use super::place::{as_info, at};
use crate::conclude::{Judgement, applies, not_applicable, one, pass};
use crate::project::facts::{ProjectFacts, is_test};
use crate::project::parse::dockerfile::{Dockerfile, expand};
use crate::project::parse::requirements::{Requirement, cuda_of_index, parse_requirement};
use crate::project::parse::shell;
use warpsmith_compatibility::Version;
use warpsmith_compatibility::database;

pub(super) const RULES: &[Check] = &[
    ("DEP001", different_major),
    ("DEP002", different_minor),
    ("DEP003", unbounded),
    ("DEP004", conflict),
    ("DEP006", renamed),
    ("DEP007", companions),
    ("DEP008", no_wheel),
    ("DEP009", extra_index),
];

/// `pytorch/pytorch:2.1.0-cuda12.1-cudnn8-devel` → 2.1.0.
fn torch_of_image(image: &str) -> Option<Version> {
    let (name, tag) = image.rsplit_once(':')?;
    let torch = name == "pytorch/pytorch" || name.ends_with("/pytorch/pytorch");
    Version::parse(tag.split('-').next()?).filter(|v| torch && v.precision() >= 2)
}

/// The first stage whose base image's name tells a version, and the version.
fn version_of_base(
    file: &Dockerfile,
    version_of: impl Fn(&str) -> Option<Version>,
) -> Option<(u32, Version)> {
    file.stages
        .iter()
        .find_map(|s| Some((s.line, version_of(&s.base)?)))
}

/// The torch that an image installs, and its CUDA: where it is demanded, version, CUDA.
fn torch_in_image(facts: &ProjectFacts, file: &Dockerfile) -> Option<(String, Version, Version)> {
    let installs: Vec<Vec<String>> = file
        .stages
        .iter()
        .flat_map(|s| {
            s.instructions
                .iter()
                .filter(|i| i.keyword == "RUN")
                .flat_map(|i| shell::commands(&i.arguments))
                .map(|words| {
                    let expanded = words.iter().map(|w| expand(w, &s.variables));
                    expanded.collect::<Vec<_>>()
                })
        })
        .filter(|words| {
            words
                .iter()
                .any(|w| w == "install" || w.contains("setup.py"))
        })
        .collect();
    let words = || installs.iter().flatten();
    // A version that only the build knows (`torch==${VERSION}`) is not resolved here.
    if words().any(|w| w.starts_with("torch==") && w.contains('$')) {
        return None;
    }
    let index = words().find_map(|word| cuda_of_index(word));
    // What the image names itself counts before what a requirements file says.
    let named = words().find_map(|w| parse_requirement(w).filter(|r| r.name == "torch"));
    let own_project = words().any(|w| w == "." || w.contains("setup.py") || w == "-e");
    let demand = facts
        .demands()
        .filter(|r| r.name == "torch" && !is_test(&r.file))
        .filter(|r| {
            let leaf = r.file.rsplit('/').next().unwrap_or(&r.file);
            let project = matches!(leaf, "setup.py" | "pyproject.toml")
                && own_project
                && !r.file.contains('/');
            project || words().any(|w| w.ends_with(leaf) && leaf.ends_with(".txt"))
        })
        .min_by_key(|r| r.range.is_unbounded());
    // torch's own images bring the torch that belongs to their CUDA; pip keeps it.
    if named.is_none() && version_of_base(file, torch_of_image).is_some() {
        return None;
    }
    let (place, range, index) = match (&named, demand) {
        (Some(named), _) => (
            file.path.clone(),
            named.range.clone(),
            index.or(named.cuda_index.clone()),
        ),
        (None, Some(demand)) => (
            format!("{}:{}", demand.file, demand.line),
            demand.range.clone(),
            index.or(demand.cuda_index.clone()),
        ),
        (None, None) => return None,
    };
    let row = database().resolve_torch(&range)?;
    // An index such as …/whl/cu118 chooses another build than PyPI's.
    let cuda = match index {
        Some(index) => Version::parse(&format!("{}.{}", index.get(2..4)?, index.get(4..5)?))?,
        None => Version::parse(row.pypi_cuda.as_deref()?)?,
    };
    Some((place, row.torch.clone(), cuda))
}

fn compare_majors(
    facts: &ProjectFacts,
    code: &str,
    wanted: impl Fn(&Version, &Version) -> bool,
    message: &str,
    hint: &str,
) -> Judgement {
    applies(facts.extension().is_some(), "no compiled torch extension")?;
    let mut looked = false;
    let mut findings = Vec::new();
    for file in &facts.dockerfiles {
        let Some((line, image)) = version_of_base(file, cuda_of_image) else {
            continue;
        };
        // Without a compiler no extension is built in it, and torch's wheel brings its own CUDA.
        let has_compiler = file
            .stages
            .iter()
            .any(|s| !s.base.contains("-runtime") && !s.base.contains("-base"));
        if !has_compiler {
            continue;
        }
        let Some((place, torch, cuda)) = torch_in_image(facts, file) else {
            continue;
        };
        looked = true;
        if wanted(&image, &cuda) {
            findings.push(
                at(
                    code,
                    &file.path,
                    line,
                    format!(
                        "the image has CUDA {}, torch {torch} is built for CUDA {cuda}: {message}",
                        image.minor_name()
                    ),
                    format!("CUDA {image}"),
                )
                .because(place, format!("resolves to torch {torch}, CUDA {cuda}"))
                .hint(hint),
            );
        }
    }
    applies(looked, "no image with a CUDA version installs torch")?;
    Ok(findings)
}

fn different_major(facts: &ProjectFacts) -> Judgement {
    compare_majors(
        facts,
        "DEP001",
        |image, torch| image.major() != torch.major(),
        "extensions cannot be built against another major",
        "use a base image of torch's CUDA major, or the index of the image's CUDA",
    )
}

fn different_minor(facts: &ProjectFacts) -> Judgement {
    let findings = compare_majors(
        facts,
        "DEP002",
        |image, torch| image.major() == torch.major() && image.part(1) != torch.part(1),
        "the same major, so builds work; torch prints a warning",
        "align them if you compile extensions; nothing has to be done otherwise",
    )?;
    Ok(findings.into_iter().map(as_info).collect())
}

fn unbounded(facts: &ProjectFacts) -> Judgement {
    applies(facts.extension().is_some(), "no compiled torch extension")?;
    let demands: Vec<&Requirement> = facts
        .demands()
        .filter(|r| r.name == "torch" && !is_test(&r.file))
        .collect();
    let Some(first) = demands.first() else {
        return not_applicable("torch is not required anywhere");
    };
    if demands.iter().any(|r| r.range.has_upper_bound()) {
        return pass();
    }
    one(at(
        "DEP003",
        &first.file,
        first.line,
        "a compiled extension accepts every future torch, whose ABI and C++ standard change",
        format!("torch{}", first.range),
    )
    .hint("add the upper bound that you test, for example `torch>=2.8,<2.16`"))
}

fn conflict(facts: &ProjectFacts) -> Judgement {
    let names = [
        "torch",
        "torchvision",
        "torchaudio",
        "numpy",
        "triton",
        "cupy-cuda12x",
        "onnxruntime-gpu",
    ];
    let mut findings = Vec::new();
    for name in names {
        let demands: Vec<&Requirement> = facts
            .demands()
            .filter(|r| {
                r.name == name
                    && !r.range.is_unbounded()
                    && !r.conditional
                    && !is_test(&r.file)
                    && !r.file.contains("docs/")
            })
            .collect();
        for (n, a) in demands.iter().enumerate() {
            for b in &demands[n + 1..] {
                // Files for different platforms or purposes are not installed together.
                let stem = |r: &Requirement| {
                    r.file
                        .rsplit_once('/')
                        .map_or(String::new(), |(d, _)| d.to_owned())
                };
                let main = |r: &Requirement| {
                    matches!(
                        r.file.rsplit('/').next(),
                        Some("requirements.txt" | "setup.py" | "pyproject.toml")
                    )
                };
                if a.file == b.file || stem(a) != stem(b) || !main(a) || !main(b) {
                    continue;
                }
                let apart =
                    match (a.range.pinned(), b.range.pinned()) {
                        (Some(x), _) => !b.range.contains(x),
                        (_, Some(y)) => !a.range.contains(y),
                        _ if name == "torch" => {
                            !database().torch.iter().any(|row| {
                                a.range.contains(&row.torch) && b.range.contains(&row.torch)
                            }) && database().resolve_torch(&a.range).is_some()
                                && database().resolve_torch(&b.range).is_some()
                        }
                        _ => false,
                    };
                if apart {
                    findings.push(
                        at(
                            "DEP004",
                            &b.file,
                            b.line,
                            format!(
                                "{name}{} here and {name}{} in {} cannot both hold",
                                b.range, a.range, a.file
                            ),
                            format!("{name}{}", b.range),
                        )
                        .because(
                            format!("{}:{}", a.file, a.line),
                            format!("{name}{}", a.range),
                        )
                        .hint("state the range once"),
                    );
                }
            }
        }
    }
    findings.extend(conflict_with_image(facts));
    applies(facts.demands().next().is_some(), "no requirements")?;
    Ok(findings)
}

/// Demands of the project's own files on torch that the torch in its image does not meet.
fn conflict_with_image(facts: &ProjectFacts) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in facts.dockerfiles.iter().filter(|f| !is_test(&f.path)) {
        let Some((line, torch)) = version_of_base(file, torch_of_image) else {
            continue;
        };
        // What the image installs over it is another question.
        let replaced = file.stages.iter().flat_map(|s| &s.instructions).any(|i| {
            i.keyword == "RUN"
                && shell::commands(&i.arguments).iter().flatten().any(|w| {
                    parse_requirement(w).is_some_and(|r| r.name == "torch")
                        || w.starts_with("pytorch")
                })
        });
        if replaced {
            continue;
        }
        for demand in facts.demands().filter(|r| {
            r.name == "torch"
                && !r.conditional
                && matches!(
                    r.file.as_str(),
                    "requirements.txt" | "setup.py" | "pyproject.toml"
                )
                && !r.range.contains(&torch)
        }) {
            findings.push(
                at(
                    "DEP004",
                    &demand.file,
                    demand.line,
                    format!(
                        "torch{} here, and the image has torch {torch}",
                        demand.range
                    ),
                    format!("torch{}", demand.range),
                )
                .because(format!("{}:{line}", file.path), format!("torch {torch}"))
                .hint("state the range that the image is built and tested with"),
            );
        }
    }
    findings
}

fn renamed(facts: &ProjectFacts) -> Judgement {
    const RENAMED: [(&str, &str); 6] = [
        ("pynvml", "nvidia-ml-py"),
        ("py3nvml", "nvidia-ml-py"),
        ("nvidia-pyindex", "nothing: the packages are on PyPI"),
        ("sklearn", "scikit-learn"),
        ("tensorflow-gpu", "tensorflow[and-cuda]"),
        ("pytorch", "torch"),
    ];
    applies(facts.demands().next().is_some(), "no requirements")?;
    Ok(facts
        .demands()
        .filter_map(|r| {
            let (old, new) = RENAMED.iter().find(|(old, _)| r.name == *old)?;
            Some(
                at(
                    "DEP006",
                    &r.file,
                    r.line,
                    format!("{old} is deprecated or a placeholder"),
                    r.name.clone(),
                )
                .hint(format!("require {new}")),
            )
        })
        .collect())
}

fn companions(facts: &ProjectFacts) -> Judgement {
    let mut findings = Vec::new();
    let mut looked = false;
    for torch in facts.demands().filter(|r| r.name == "torch") {
        let Some(pin) = torch.range.pinned() else {
            continue;
        };
        for other in facts.demands().filter(|r| {
            r.file == torch.file && matches!(r.name.as_str(), "torchvision" | "torchaudio")
        }) {
            let Some(range) = other
                .range
                .pinned()
                .and_then(|v| database().torch_pin(&other.name, v))
            else {
                continue;
            };
            looked = true;
            if !range.is_unbounded() && !range.contains(pin) {
                findings.push(
                    at(
                        "DEP007",
                        &other.file,
                        other.line,
                        format!(
                            "{}{} belongs to torch{range}, the file pins torch {pin}",
                            other.name, other.range
                        ),
                        format!("{}{}", other.name, other.range),
                    )
                    .hint("pin the pair that was released together"),
                );
            }
        }
    }
    applies(looked, "no pinned pair of torch and its companions")?;
    Ok(findings)
}

fn no_wheel(facts: &ProjectFacts) -> Judgement {
    let mut looked = false;
    let mut findings = Vec::new();
    for demand in facts.demands().filter(|r| !r.conditional) {
        let releases = database().releases(&demand.name);
        let Some(pin) = demand.range.pinned().filter(|_| !releases.is_empty()) else {
            continue;
        };
        looked = true;
        let newest = releases.iter().map(|r| &r.version).max();
        // Releases younger than the database do not count against the project.
        if newest.is_some_and(|n| pin <= n)
            && demand.name.starts_with("cupy-cuda")
            && !releases.iter().any(|r| r.version.part(0) == pin.part(0))
        {
            findings.push(
                at(
                    "DEP008",
                    &demand.file,
                    demand.line,
                    format!("{} has no release {}", demand.name, pin.part(0)),
                    format!("{}=={pin}", demand.name),
                )
                .hint("choose a release that PyPI has for this CUDA"),
            );
        }
    }
    applies(looked, "no pinned package that the database knows")?;
    Ok(findings)
}

fn extra_index(facts: &ProjectFacts) -> Judgement {
    let mut findings = Vec::new();
    for option in &facts.index_options {
        let http = option.url.starts_with("http://");
        // PyTorch's own index is the documented way and mirrors no private names.
        let extra = option.option == "--extra-index-url"
            && !option.url.contains("download.pytorch.org")
            && !option.url.contains("pypi.nvidia.com");
        if http || extra {
            let message = if http {
                "packages come over plain HTTP"
            } else {
                "--extra-index-url lets a public package of the same name win"
            };
            findings.push(at("DEP009", &option.file, option.line, message, format!("{} {}", option.option, option.url)).hint("use one index over HTTPS, or pin the index per package (uv: [tool.uv.sources])"));
        }
    }
    if facts.requirements.is_empty() && facts.index_options.is_empty() {
        return not_applicable("no requirements file");
    }
    Ok(findings)
}
