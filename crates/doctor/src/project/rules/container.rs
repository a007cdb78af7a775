//! Rules about images, compose files and manifests.

use std::collections::BTreeSet;

use warpsmith_core::Finding;

use super::Check;
use super::architectures::{arch_lists, cuda_of_image, promised_capability};
use super::image_eol;
use super::place::{as_info, as_warning, at};
use crate::conclude::{Judgement, applies, not_applicable, pass};
use crate::project::arch_list;
use crate::project::facts::{ProjectFacts, YamlFile, exposes};
use crate::project::parse::dockerfile::{Dockerfile, Instruction, Stage};
use crate::project::parse::shell;
use crate::project::parse::yaml::Entry;
use warpsmith_compatibility::lifecycle;

pub(super) const RULES: &[Check] = &[
    ("DKR001", root_user),
    ("DKR002", no_healthcheck),
    ("DKR003", unpinned_base),
    ("DKR005", end_of_life),
    ("DKR006", compiled_without_gpu),
    ("DKR007", documented_not_in_image),
    ("DKR008", apt_leftovers),
    ("DKR009", copy_everything),
    ("DKR010", secret_or_sudo),
    ("DKR011", pipe_to_shell),
    ("DKR012", no_nvidia_variables),
    ("DKR013", no_gpu_asked),
    ("DKR014", privileged),
    ("DKR015", default_password),
];

const NO_IMAGE: &str = "no Dockerfile";

pub(super) fn each(facts: &ProjectFacts, check: impl Fn(&Dockerfile) -> Vec<Finding>) -> Judgement {
    applies(!facts.dockerfiles.is_empty(), NO_IMAGE)?;
    Ok(facts.dockerfiles.iter().flat_map(check).collect())
}

fn runs(file: &Dockerfile) -> impl Iterator<Item = &Instruction> {
    file.stages
        .iter()
        .flat_map(|s| &s.instructions)
        .filter(|i| i.keyword == "RUN")
}

/// Words of a path: `docker/Dockerfile.base_cpuonly` has `cpuonly`.
fn path_words(path: &str) -> impl Iterator<Item = String> {
    path.split(|c: char| !c.is_ascii_alphanumeric())
        .map(str::to_ascii_lowercase)
}

/// Whether an image is of Windows: its users and its GPUs work another way.
fn is_windows(file: &Dockerfile, base: &str) -> bool {
    ["windows", "nanoserver", "servercore"]
        .iter()
        .any(|word| base.contains(word))
        || path_words(&file.path).any(|word| word == "windows")
}

fn root_user(facts: &ProjectFacts) -> Judgement {
    each(facts, |file| {
        let Some(stage) = file.last() else {
            return Vec::new();
        };
        let user = file
            .lineage(stage)
            .into_iter()
            .rev()
            .find(|i| i.keyword == "USER");
        let root =
            user.is_none_or(|i| matches!(i.arguments.trim().split(':').next(), Some("root" | "0")));
        // Images that are made to run as somebody else.
        let known = ["nonroot", "distroless", "rootless", "jovyan"]
            .iter()
            .any(|w| file.root_of(stage).base.contains(w));
        if !root || known || is_windows(file, &file.root_of(stage).base) {
            return Vec::new();
        }
        let line = user.map_or(stage.line, |i| i.line);
        let found = at(
            "DKR001",
            &file.path,
            line,
            "the image runs as root",
            user.map_or("no USER in the last stage".into(), |i| {
                format!("USER {}", i.arguments.trim())
            }),
        )
        .hint("create a user and switch to it: RUN useradd --create-home app / USER app");
        // The editor that opens a development container chooses the user.
        let development = file.path.contains(".devcontainer");
        vec![if development { as_info(found) } else { found }]
    })
}

fn no_healthcheck(facts: &ProjectFacts) -> Judgement {
    let services: Vec<_> = facts.dockerfiles.iter().filter(|f| exposes(f)).collect();
    applies(!services.is_empty(), "no image exposes a port")?;
    let elsewhere = facts.yaml.iter().any(|y| {
        y.outline.keyed("healthcheck").next().is_some()
            || y.outline.keyed("livenessProbe").next().is_some()
    });
    Ok(services
        .into_iter()
        .filter(|_| !elsewhere)
        .filter_map(|file| {
            let stage = file.last()?;
            if file
                .lineage(stage)
                .iter()
                .any(|i| i.keyword == "HEALTHCHECK")
            {
                return None;
            }
            let expose = file
                .lineage(stage)
                .into_iter()
                .find(|i| i.keyword == "EXPOSE")?;
            Some(
                at(
                    "DKR002",
                    &file.path,
                    expose.line,
                    "the image exposes a port and has no HEALTHCHECK",
                    format!("EXPOSE {}", expose.arguments.trim()),
                )
                .hint("add HEALTHCHECK, or a probe in the orchestrator"),
            )
        })
        .collect())
}

fn unpinned_base(facts: &ProjectFacts) -> Judgement {
    // Images that the project's own commands build: there is no registry to take a digest from.
    let lines = facts
        .documents
        .iter()
        .flat_map(|d| d.lines.iter().map(String::as_str));
    let scripts = facts.scripts.iter().flat_map(|(_, text)| text.lines());
    let built_here: BTreeSet<&str> = lines
        .chain(scripts)
        .filter(|line| line.contains("docker build"))
        .flat_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let tags = words
                .windows(2)
                .filter(|pair| matches!(pair[0], "-t" | "--tag"));
            tags.map(|pair| pair[1]).collect::<Vec<_>>()
        })
        .collect();
    each(facts, |file| {
        let mut findings = Vec::new();
        for stage in &file.stages {
            let base = &stage.base;
            let internal = file
                .stages
                .iter()
                .any(|s| s.name.as_deref() == Some(base.as_str()));
            if internal || base == "scratch" || base.contains("@sha256:") || base.is_empty() {
                continue;
            }
            if base.starts_with('$') {
                continue;
            }
            let tag = base
                .rsplit('/')
                .next()
                .unwrap_or(base)
                .split_once(':')
                .map(|(_, t)| t);
            let message = match tag {
                None | Some("latest") => {
                    "the base image is whatever is newest on the day of the build"
                }
                Some(_) => "the base image is not pinned by digest: the tag can be moved",
            };
            let found = at("DKR003", &file.path, stage.line, message, base.clone()).hint(
                "pin it: image:tag@sha256:… (`docker buildx imagetools inspect` prints the digest)",
            );
            findings.push(if built_here.contains(base.as_str()) {
                as_info(found)
            } else {
                found
            });
        }
        findings
    })
}

fn end_of_life(facts: &ProjectFacts) -> Judgement {
    each(facts, |file| {
        let mut seen: Vec<&str> = Vec::new();
        let mut findings = Vec::new();
        for stage in &file.stages {
            if seen.contains(&stage.base.as_str()) {
                continue;
            }
            seen.push(&stage.base);
            findings.extend(ended_base(&file.path, stage.line, &stage.base));
        }
        findings
    })
}

/// What has ended of a base image: its distribution, its Python, or its CUDA.
fn ended_base(file: &str, line: u32, base: &str) -> Option<Finding> {
    let found = |message: String, hint: &str| at("DKR005", file, line, message, base).hint(hint);
    if let Some(system) = image_eol::ended_system(base) {
        let hint = match cuda_of_image(base) {
            Some(_) => "use the same CUDA on ubuntu22.04 or ubuntu24.04",
            None => "use a release that still gets fixes",
        };
        let name = format!("{} {}", system.name, system.version);
        // Debian's long-term support is free; what others sell does not reach an image by itself.
        let community = system
            .extended_end
            .as_deref()
            .filter(|_| system.name == "debian");
        if let Some(end) = community.filter(|end| *end > lifecycle().as_of.as_str()) {
            let message =
                format!("the base system gets long-term support alone: {name} until {end}");
            return Some(as_info(found(message, hint)));
        }
        let end = community.unwrap_or(&system.end);
        let message =
            format!("the base system is at its end of life: {name} has had no fixes since {end}");
        return Some(found(message, hint));
    }
    if let Some(python) = image_eol::ended_python(base) {
        let message = format!(
            "the base image is for Python {}, which has had no fixes since {}",
            python.version, python.end
        );
        return Some(as_warning(found(
            message,
            "use a Python that still gets fixes",
        )));
    }
    let (message, certain) = image_eol::ended_cuda(base)?;
    let ended = found(
        message,
        "use the newest patch of a CUDA that NVIDIA still lists",
    );
    Some(if certain {
        as_warning(ended)
    } else {
        as_info(ended)
    })
}

/// `RUN` commands that compile the project itself.
pub(in crate::project) fn compiles(words: &[String]) -> bool {
    let text = words.join(" ");
    (text.contains("setup.py")
        && ["build", "install", "bdist", "develop"]
            .iter()
            .any(|w| text.contains(w)))
        || (words.iter().any(|w| w == "pip" || w == "pip3" || w == "uv")
            && words.iter().any(|w| w == "install" || w == "wheel")
            && words
                .iter()
                .any(|w| w == "." || w == "-e" || w == "./" || w.starts_with(".[")))
}

/// The folder that a `git clone` makes.
fn cloned_folder(words: &[String]) -> Option<String> {
    let at = words
        .windows(2)
        .position(|w| w[0] == "git" && w[1] == "clone")?;
    let mut names = words[at + 2..].iter().filter(|word| !word.starts_with('-'));
    let address = names.find(|word| word.contains('/'))?;
    let folder = names.next().unwrap_or(address);
    let name = folder.trim_end_matches('/').rsplit('/').next()?;
    Some(name.trim_end_matches(".git").to_owned())
}

/// Whether a `RUN` compiles somebody else's project, which the image cloned: how that one finds its
/// architectures is not written here.
fn builds_a_clone(facts: &ProjectFacts, stage: &Stage, run: &Instruction) -> bool {
    let plain = |name: &str| name.to_ascii_lowercase().replace('-', "_");
    let is_own = |name: &str| {
        let mut names = facts.setups.iter().filter_map(|s| s.name.as_deref());
        names.any(|own| plain(own) == plain(name))
    };
    let mut clones = Vec::new();
    let mut folder = String::new();
    for instruction in &stage.instructions {
        match instruction.keyword.as_str() {
            "WORKDIR" => folder = instruction.arguments.trim().to_owned(),
            "RUN" => {
                let mut here = folder.clone();
                for words in shell::commands(&instruction.arguments) {
                    clones.extend(cloned_folder(&words));
                    if let [cd, to, ..] = words.as_slice()
                        && cd == "cd"
                    {
                        here.clone_from(to);
                    }
                    if instruction.line == run.line && compiles(&words) {
                        let text = words.join(" ");
                        let inside = |clone: &String| {
                            here.split('/').any(|part| part == clone)
                                || text.split(['/', ' ']).any(|part| part == clone)
                        };
                        return clones.iter().any(|clone| inside(clone) && !is_own(clone));
                    }
                }
            }
            _ => {}
        }
    }
    false
}

fn compiled_without_gpu(facts: &ProjectFacts) -> Judgement {
    let Some(setup) = facts.extension() else {
        return not_applicable("no setup.py that builds CUDA code");
    };
    each(facts, |file| {
        let mut findings = Vec::new();
        for stage in &file.stages {
            let base = &file.root_of(stage).base;
            // Architectures of AMD's GPUs are written in another way; NVIDIA's images of PyTorch set
            // the list themselves.
            if base.contains("rocm") || base.contains("nvidia/pytorch:") {
                continue;
            }
            // `ENV BUILD_CUDA=0`: the image leaves the CUDA code out on purpose.
            let without_cuda = stage.variables.iter().any(|(name, value)| {
                name.contains("CUDA")
                    && matches!(value.trim_matches(['"', '\'']), "0" | "OFF" | "off")
            });
            if without_cuda {
                continue;
            }
            // `WORKDIR` may lead elsewhere; only a build of the root's setup.py is the extension's.
            for run in stage.instructions.iter().filter(|i| i.keyword == "RUN") {
                let commands = shell::commands(&run.arguments);
                if !commands.iter().any(|words| compiles(words))
                    || builds_a_clone(facts, stage, run)
                {
                    continue;
                }
                // A setup.py that asks for a GPU or FORCE_CUDA builds no CUDA code without them.
                let asks = setup.text.contains("FORCE_CUDA")
                    || setup.text.contains("if torch.cuda.is_available()");
                let left_out = asks
                    && !stage.variables.contains_key("FORCE_CUDA")
                    && !run.arguments.contains("FORCE_CUDA");
                if left_out && setup.needs_gpu.is_none() {
                    continue;
                }
                let has_list = stage.variables.contains_key("TORCH_CUDA_ARCH_LIST")
                    || run.arguments.contains("TORCH_CUDA_ARCH_LIST");
                let root = !setup.path.contains('/');
                if setup.needs_gpu.is_some() && root {
                    findings.push(
                        at("DKR006", &file.path, run.line, "the image cannot be built: setup.py ends without a GPU, and `docker build` has none", run.arguments.lines().next().unwrap_or("").to_owned())
                            .because(format!("{}:{}", setup.path, setup.needs_gpu.unwrap_or(1)), "ends when torch.cuda.is_available() is false")
                            .hint("let setup.py build without a GPU (FORCE_CUDA), and set ENV TORCH_CUDA_ARCH_LIST"),
                    );
                } else if !has_list
                    && root
                    && setup.gencode_line.is_none()
                    && setup.arch_list_values.is_empty()
                    && !setup.computed_gencode
                {
                    let proposed = arch_list::list_for_image(facts, &file.path, run.line)
                        .or_else(|| arch_list::list_for(facts));
                    let hint = match proposed {
                        Some(proposed) => format!(
                            "ENV TORCH_CUDA_ARCH_LIST=\"{}\", {}",
                            proposed.list,
                            proposed.evidence()
                        ),
                        None => {
                            "set ENV TORCH_CUDA_ARCH_LIST to the architectures that you support"
                                .to_owned()
                        }
                    };
                    findings.push(
                        at("DKR006", &file.path, run.line, "the extension is compiled with no architecture list: torch fails with IndexError where no GPU is visible", run.arguments.lines().next().unwrap_or("").to_owned())
                            .hint(hint),
                    );
                }
            }
        }
        findings
    })
}

fn documented_not_in_image(facts: &ProjectFacts) -> Judgement {
    applies(!facts.dockerfiles.is_empty(), NO_IMAGE)?;
    let Some((document, line, capability)) = promised_capability(facts) else {
        return not_applicable("no lowest compute capability is documented");
    };
    let lists: Vec<_> = arch_lists(facts)
        .into_iter()
        .filter(|l| facts.dockerfiles.iter().any(|f| f.path == l.file))
        .collect();
    applies(!lists.is_empty(), "no architecture list in an image")?;
    Ok(
        lists
            .into_iter()
            .filter(|l| l.coverage.cubins.iter().map(|t| t.capability).min().is_some_and(|lowest| lowest > capability))
            .map(|l| {
                at("DKR007", &l.file, l.line, format!("the image has no code for compute capability {capability}, which the documentation promises"), l.text.clone())
                    .because(format!("{document}:{line}"), format!("compute capability {capability}"))
                    .hint("add the architectures to the image's list")
            })
            .collect(),
    )
}

fn apt_leftovers(facts: &ProjectFacts) -> Judgement {
    each(facts, |file| {
        let mut findings = Vec::new();
        // Stages that are not shipped may be as large as they like.
        let Some(last) = file.last() else {
            return findings;
        };
        for run in file
            .lineage(last)
            .into_iter()
            .filter(|i| i.keyword == "RUN")
        {
            let commands = shell::commands(&run.arguments);
            let install = commands.iter().find(|w| {
                w.iter().any(|x| x == "apt-get" || x == "apt") && w.iter().any(|x| x == "install")
            });
            let Some(install) = install else {
                continue;
            };
            let recommends = !install
                .iter()
                .any(|w| w == "--no-install-recommends" || w.contains("Install-Recommends"));
            let lists = !run.arguments.contains("/var/lib/apt/lists")
                && !run.arguments.contains("--mount=type=cache");
            if recommends && lists {
                findings.push(at("DKR008", &file.path, run.line, "apt installs recommended packages and leaves its lists in the image", install.join(" ").chars().take(80).collect::<String>()).hint("apt-get install -y --no-install-recommends … && rm -rf /var/lib/apt/lists/*"));
            }
        }
        findings
    })
}

fn copy_everything(facts: &ProjectFacts) -> Judgement {
    let ignore = facts.files.iter().any(|f| f.ends_with(".dockerignore"));
    each(facts, |file| {
        file.stages
            .iter()
            .flat_map(|s| &s.instructions)
            .filter(|i| {
                matches!(i.keyword.as_str(), "COPY" | "ADD") && !i.arguments.contains("--from")
            })
            .filter(|i| {
                matches!(
                    i.arguments
                        .split_whitespace()
                        .find(|w| !w.starts_with("--")),
                    Some("." | "./")
                )
            })
            .filter(|_| !ignore)
            .take(1)
            .map(|i| {
                at(
                    "DKR009",
                    &file.path,
                    i.line,
                    "the whole folder goes into the image, .git and local files included",
                    format!("COPY {}", i.arguments.trim()),
                )
                .hint("add a .dockerignore")
            })
            .collect()
    })
}

fn secret_or_sudo(facts: &ProjectFacts) -> Judgement {
    const NAMES: [&str; 6] = [
        "PASSWORD",
        "SECRET",
        "API_KEY",
        "ACCESS_KEY",
        "PRIVATE_KEY",
        "AUTH_TOKEN",
    ];
    each(facts, |file| {
        let mut findings = Vec::new();
        let drops_root = file.stages.iter().flat_map(|s| &s.instructions).any(|i| {
            let user = i.arguments.trim().split(':').next();
            i.keyword == "USER" && !matches!(user, Some("root" | "0"))
        });
        for stage in &file.stages {
            for i in &stage.instructions {
                if i.keyword == "RUN"
                    && let Some(offset) = i.arguments.find("NOPASSWD")
                {
                    let found = at(
                        "DKR010",
                        &file.path,
                        i.line_at(offset),
                        "passwordless sudo makes the non-root user root",
                        "NOPASSWD",
                    )
                    .hint("install at build time as root, and drop sudo from the image");
                    // Whoever develops in a container installs things there; who stays root needs no sudo.
                    findings.push(if file.path.contains("devcontainer") || !drops_root {
                        as_info(found)
                    } else {
                        found
                    });
                }
                if matches!(i.keyword.as_str(), "ENV" | "ARG")
                    && let Some((name, value)) = i.arguments.trim().split_once('=')
                    && NAMES.iter().any(|n| name.to_ascii_uppercase().ends_with(n))
                    && value.trim_matches(['"', '\'', ' ']).len() >= 8
                    && !value.contains('$')
                    && !value.contains(' ')
                {
                    findings.push(at("DKR010", &file.path, i.line, format!("{name} is written into the image"), format!("{} {name}=…", i.keyword)).hint("pass it at run time, or with RUN --mount=type=secret; rotate the value"));
                }
            }
        }
        findings
    })
}

fn pipe_to_shell(facts: &ProjectFacts) -> Judgement {
    each(facts, |file| {
        runs(file)
            .filter_map(|run| {
                let commands = shell::commands(&run.arguments);
                let piped = commands.windows(2).any(|pair| {
                    pair[0].iter().any(|w| w == "curl" || w == "wget") && pair[1].first().is_some_and(|w| w == "|") && pair[1].get(1).is_some_and(|w| matches!(w.as_str(), "sh" | "bash" | "/bin/sh" | "/bin/bash"))
                });
                let plain = commands.iter().any(|w| w.iter().any(|x| x == "wget" || x == "curl") && w.iter().any(|x| x.starts_with("http://")));
                let key = run.arguments.contains("apt-key ");
                let message = if piped {
                    "a script from the network is run unseen"
                } else if plain {
                    "a file is fetched over plain HTTP"
                } else if key {
                    "apt-key is removed from current distributions, and trusts the key for every repository"
                } else {
                    return None;
                };
                Some(at("DKR011", &file.path, run.line, message, run.arguments.lines().next().unwrap_or("").chars().take(80).collect::<String>()).hint("fetch over HTTPS, pin a version, check its sha256; put keys into /etc/apt/keyrings"))
            })
            .collect()
    })
}

fn no_nvidia_variables(facts: &ProjectFacts) -> Judgement {
    applies(facts.has_cuda(), "no CUDA code")?;
    each(facts, |file| {
        let Some(stage) = file.last() else {
            return Vec::new();
        };
        let base = &file.root_of(stage).base;
        let has = ["nvidia", "cuda", "pytorch", "nvcr"]
            .iter()
            .any(|w| base.contains(w));
        // One that is named after the CPU, or that wheels are built in, needs no GPU.
        let without = path_words(&file.path).any(|word| word.starts_with("cpu"))
            || base.contains("manylinux")
            || is_windows(file, base);
        if has
            || without
            || base.starts_with('$')
            || stage.variables.contains_key("NVIDIA_VISIBLE_DEVICES")
            || ["rocm", "intel", "ascend", "musa", "alpine", "node", "nginx"]
                .iter()
                .any(|w| base.contains(w))
        {
            return Vec::new();
        }
        vec![as_info(
            at(
                "DKR012",
                &file.path,
                stage.line,
                "the base image does not ask the runtime for GPUs",
                base.clone(),
            )
            .hint("ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility"),
        )]
    })
}

/// Compose files and Kubernetes manifests.
fn manifests(facts: &ProjectFacts) -> impl Iterator<Item = &YamlFile> {
    facts.yaml.iter().filter(|y| {
        let name = y.path.rsplit('/').next().unwrap_or("").to_ascii_lowercase();
        name.contains("compose")
            || y.text.contains("\nkind: Deployment")
            || y.text.starts_with("apiVersion: apps/")
    })
}

fn no_gpu_asked(facts: &ProjectFacts) -> Judgement {
    applies(facts.has_cuda(), "no CUDA code")?;
    let files: Vec<_> = manifests(facts).collect();
    applies(!files.is_empty(), "no compose file or manifest")?;
    if files.iter().any(|y| {
        [
            "nvidia.com/gpu",
            "runtime: nvidia",
            "driver: nvidia",
            "capabilities: [gpu]",
            "capabilities: [\"gpu\"]",
            "- gpu",
            "gpus: all",
        ]
        .iter()
        .any(|w| y.text.contains(w))
    }) {
        return pass();
    }
    let first = files[0];
    Ok(vec![
        at(
            "DKR013",
            &first.path,
            1,
            "no service asks for a GPU",
            "no device reservation, no nvidia.com/gpu",
        )
        .hint("deploy.resources.reservations.devices: driver nvidia, count 1, capabilities [gpu]"),
    ])
}

/// Every entry of the manifests, with its file and the last key of its path.
fn manifest_entries(facts: &ProjectFacts) -> Judgement<Vec<(&YamlFile, &Entry, &str)>> {
    applies(
        manifests(facts).next().is_some(),
        "no compose file or manifest",
    )?;
    Ok(manifests(facts)
        .flat_map(|file| file.outline.entries.iter().map(move |entry| (file, entry)))
        .map(|(file, entry)| (file, entry, entry.path.rsplit('/').next().unwrap_or("")))
        .collect())
}

fn privileged(facts: &ProjectFacts) -> Judgement {
    Ok(manifest_entries(facts)?
        .into_iter()
        .filter(|(_, entry, key)| {
            (*key == "privileged" && entry.value == "true")
                || (*key == "network_mode" && entry.value == "host")
                || (*key == "hostNetwork" && entry.value == "true")
                || entry.value.contains("docker.sock")
        })
        .map(|(file, entry, key)| {
            let seen = format!("{key}: {}", entry.value);
            let message = if matches!(key, "network_mode" | "hostNetwork") {
                "the container shares the host's network: its ports are open on every interface"
            } else {
                "the container gets the host's rights"
            };
            at("DKR014", &file.path, entry.line, message, seen)
                .hint("remove it, and grant the one right that is needed")
        })
        .collect())
}

fn default_password(facts: &ProjectFacts) -> Judgement {
    Ok(manifest_entries(facts)?
        .into_iter()
        .map(|(file, entry, key)| match entry.value.split_once('=') {
            Some((name, value)) if key == "[]" || key == "environment" => {
                (file, entry, name, value)
            }
            _ => (file, entry, key, entry.value.as_str()),
        })
        .filter(|(_, _, name, value)| {
            name.to_ascii_uppercase().contains("PASSWORD")
                && matches!(
                    value.trim_matches(['"', '\'']),
                    "admin" | "password" | "root" | "changeme" | "postgres" | "secret" | "123456"
                )
        })
        .map(|(file, entry, name, _)| {
            let message = format!("{name} has its default value");
            at(
                "DKR015",
                &file.path,
                entry.line,
                message,
                format!("{name}=…"),
            )
            .hint("take it from a secret")
        })
        .collect())
}
