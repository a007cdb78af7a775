//! Rules about continuous integration.

use std::collections::BTreeMap;

use warpsmith_core::Finding;

use super::Check;
use super::place::{as_info, at};
use crate::conclude::{Judgement, applies, finding, not_applicable, one, pass};
use crate::project::facts::{ProjectFacts, YamlFile};
use crate::project::parse::yaml::items;
use warpsmith_compatibility::Version;
use warpsmith_compatibility::lifecycle;

pub(super) const RULES: &[Check] = &[
    ("CIA001", no_gpu_job),
    ("CIA002", never_compiled),
    ("CIA003", unpinned_actions),
    ("CIA004", branch_actions),
    ("CIA005", no_permissions),
    ("CIA006", dangerous_trigger),
    ("CIA007", sarif_permission),
    ("CIA009", no_updates),
    ("CIA010", cuda_tested_and_documented),
    ("CIA011", skipped_tests),
    ("CIA012", end_of_life),
];

const NO_CI: &str = "no CI configuration";
const NO_WORKFLOWS: &str = "no GitHub workflows";

/// Whether a text names a machine that has a GPU, or may hide one behind its own name.
fn gpu_runner(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    [
        "gpu",
        "cuda",
        "nvidia",
        "self-hosted",
        "a100",
        "h100",
        "h200",
        "b200",
        "t4",
        "l4",
        "v100",
        "a10",
        "rtx",
        "jetson",
        "gb300",
        "gb200",
        "${{",
        "modal",
        "runs-on/",
    ]
    .iter()
    .any(|w| lower.contains(w))
}

pub(super) fn has_gpu_job(facts: &ProjectFacts) -> bool {
    facts.workflows.iter().any(|w| {
        // A workflow of somebody else takes the machine as an input.
        let runners = w.outline.keyed("runs-on").chain(w.outline.keyed("runner"));
        runners.into_iter().any(|e| {
            gpu_runner(&e.value)
                || e.value.is_empty()
                    && w.outline.below(&e.path).any(|item| gpu_runner(&item.value))
        })
    }) || facts.other_ci.iter().any(|w| gpu_runner(&w.text))
}

fn no_gpu_job(facts: &ProjectFacts) -> Judgement {
    if !facts.has_ci() || !facts.has_cuda() {
        return not_applicable("no CI configuration, or no CUDA code");
    }
    if has_gpu_job(facts) {
        return pass();
    }
    let place = facts.workflows.iter().find_map(|w| {
        let entry = w.outline.keyed("runs-on").next()?;
        Some((w.path.clone(), entry.line, entry.value.clone()))
    });
    match place {
        None => one(finding(
            "CIA001",
            "no job runs on a GPU: kernels are never executed in CI",
        )
        .because("CI", "no GPU runner")
        .hint("add a job on a self-hosted or hosted GPU runner")),
        Some((file, line, seen)) => one(at(
            "CIA001",
            &file,
            line,
            "no job runs on a GPU: kernels are never executed in CI",
            format!("runs-on: {seen}"),
        )
        .hint("add a job on a self-hosted or hosted GPU runner")),
    }
}

/// Words of a command that compiles CUDA code, or may.
const COMPILING: [&str; 26] = [
    "nvcc",
    "build_ext",
    "install .",
    "install -e",
    "install -v",
    "install --no-build-isolation",
    "cmake",
    "nvidia/cuda",
    "cuda-toolkit",
    "cibuildwheel",
    "setup.py",
    "-m build",
    "uv build",
    "uv sync",
    "uv pip install",
    "cargo build",
    "cargo test",
    "ninja",
    "pip wheel",
    "make ",
    "bazel",
    "meson",
    "conda build",
    "conda-build",
    "rattler-build",
    "maturin",
];

fn never_compiled(facts: &ProjectFacts) -> Judgement {
    if !facts.has_ci() || !facts.has_cuda() {
        return not_applicable("no CI configuration, or no CUDA code");
    }
    let texts: Vec<String> = facts
        .workflows
        .iter()
        .chain(&facts.other_ci)
        .map(|w| w.text.to_ascii_lowercase())
        .collect();
    let compiles = |text: &str| COMPILING.iter().any(|w| text.contains(w));
    // A script, makefile or tox file counts where a job calls it.
    let called = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
        let word = match name.as_str() {
            "makefile" => "make",
            "justfile" => "just ",
            "tox.ini" => "tox",
            other => other,
        };
        texts.iter().any(|t| t.contains(word))
    };
    let by_script = || {
        facts
            .scripts
            .iter()
            .any(|(path, text)| compiles(&text.to_ascii_lowercase()) && called(path))
    };
    // An image that is built in CI compiles what its Dockerfile compiles, where it can be built.
    let by_image = || {
        texts.iter().any(|t| {
            [
                "docker build",
                "build-push-action",
                "buildx",
                "docker-compose",
            ]
            .iter()
            .any(|w| t.contains(w))
        }) && !facts
            .setups
            .iter()
            .any(|s| s.needs_gpu.is_some() && !s.path.contains('/'))
    };
    if texts.iter().any(|t| compiles(t)) || by_script() || by_image() {
        return pass();
    }
    // The workflow that tests is the one that ought to compile.
    let testing = facts
        .workflows
        .iter()
        .find(|w| {
            ["pytest", "unittest", "ctest", " test"]
                .iter()
                .any(|t| w.text.contains(t))
        })
        .or(facts.workflows.first());
    let message = "no job compiles the CUDA code";
    let hint = "compile in a container such as nvidia/cuda:<version>-devel: compiling needs no GPU";
    let place = testing.and_then(|w| {
        let entry = w
            .outline
            .keyed("run")
            .next()
            .or(w.outline.keyed("runs-on").next())?;
        Some((w.path.as_str(), entry.line))
    });
    match place {
        Some((file, line)) => {
            one(at("CIA002", file, line, message, "nothing here compiles").hint(hint))
        }
        None => one(finding("CIA002", message)
            .because("CI", "nothing compiles")
            .hint(hint)),
    }
}

/// `uses:` entries that name another repository: (workflow, line, action, reference).
fn actions(facts: &ProjectFacts) -> Vec<(&YamlFile, u32, String, String)> {
    facts
        .workflows
        .iter()
        .flat_map(|w| {
            w.outline.keyed("uses").filter_map(move |e| {
                let (action, reference) = e.value.split_once('@')?;
                (!action.starts_with('.') && !action.starts_with("docker:"))
                    .then(|| (w, e.line, action.to_owned(), reference.to_owned()))
            })
        })
        .collect()
}

fn is_commit(reference: &str) -> bool {
    reference.len() == 40 && reference.bytes().all(|b| b.is_ascii_hexdigit())
}

fn unpinned_actions(facts: &ProjectFacts) -> Judgement {
    let all = actions(facts);
    applies(!all.is_empty(), "no workflow uses actions")?;
    let loose: Vec<_> = all.iter().filter(|(_, _, _, r)| !is_commit(r)).collect();
    let Some((workflow, line, action, reference)) = loose.first() else {
        return pass();
    };
    one(at(
        "CIA003",
        &workflow.path,
        *line,
        format!(
            "{} of {} actions are not pinned by commit: their owner can change what runs",
            loose.len(),
            all.len()
        ),
        format!("{action}@{reference}"),
    )
    .hint("pin them (`pinact run`, or Dependabot with commit hashes)"))
}

/// Who owns the project on GitHub, as its README has it: the owner that it names most.
pub(in crate::project) fn owner(facts: &ProjectFacts) -> Option<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for line in &facts.readme()?.lines {
        for rest in line.split("github.com/").skip(1) {
            let name: String = rest
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || *c == '-')
                .collect();
            if rest[name.len()..].starts_with('/') {
                *counts.entry(name.to_ascii_lowercase()).or_default() += 1;
            }
        }
    }
    // The first of equals is nobody's: one mention proves nothing.
    let most = counts.values().max().copied().filter(|most| *most >= 2)?;
    let mut owners = counts.into_iter().filter(|(_, count)| *count == most);
    owners
        .next()
        .map(|(name, _)| name)
        .filter(|_| owners.next().is_none())
}

fn branch_actions(facts: &ProjectFacts) -> Judgement {
    let all = actions(facts);
    applies(!all.is_empty(), "no workflow uses actions")?;
    let owner = owner(facts);
    let is_own = |action: &str| {
        let name = action.split('/').next().unwrap_or("");
        owner
            .as_deref()
            .is_some_and(|owner| name.eq_ignore_ascii_case(owner))
    };
    Ok(all
        .into_iter()
        .filter(|(_, _, _, r)| {
            matches!(r.as_str(), "master" | "main" | "develop" | "dev" | "HEAD")
                || r.starts_with("release/")
        })
        .map(|(w, line, action, reference)| {
            let whose = if is_own(&action) {
                "to it"
            } else {
                "of theirs"
            };
            let found = at(
                "CIA004",
                &w.path,
                line,
                format!(
                    "{action} is taken from its branch `{reference}`: every push {whose} runs here"
                ),
                format!("uses: {action}@{reference}"),
            )
            .hint("name a release tag or, better, a commit");
            // Those who push there may push here as well.
            if is_own(&action) {
                as_info(found)
            } else {
                found
            }
        })
        .collect())
}

fn no_permissions(facts: &ProjectFacts) -> Judgement {
    applies(!facts.workflows.is_empty(), NO_WORKFLOWS)?;
    Ok(facts
        .workflows
        .iter()
        .filter(|w| {
            !w.outline.entries.is_empty() && w.outline.below("permissions").next().is_none()
        })
        // A workflow in which every job states its own is as good.
        .filter(|w| {
            let jobs: std::collections::BTreeSet<_> = w
                .outline
                .below("jobs")
                .filter_map(|e| e.path.split('/').nth(1).map(str::to_owned))
                .collect();
            jobs.iter().any(|job| {
                w.outline
                    .below(&format!("jobs/{job}/permissions"))
                    .next()
                    .is_none()
            })
        })
        .map(|w| {
            at(
                "CIA005",
                &w.path,
                1,
                "the workflow's token has the repository's default rights",
                "no `permissions:`",
            )
            .hint("permissions:\n  contents: read")
        })
        .collect())
}

fn dangerous_trigger(facts: &ProjectFacts) -> Judgement {
    applies(!facts.workflows.is_empty(), NO_WORKFLOWS)?;
    let triggered = |w: &&YamlFile| {
        w.outline.entries.iter().any(|e| {
            (e.path == "on" || e.path.starts_with("on/"))
                && (e.path.contains("pull_request_target")
                    || e.value.contains("pull_request_target"))
        })
    };
    Ok(facts
        .workflows
        .iter()
        .filter(triggered)
        .filter_map(untrusted_checkout)
        .collect())
}

/// The checkout of a pull request's own code, and whether its job goes on to run any of it.
fn untrusted_checkout(workflow: &YamlFile) -> Option<Finding> {
    let outline = &workflow.outline;
    let head = outline.keyed("ref").find(|e| {
        e.path.starts_with("jobs/")
            && (e.value.contains("github.event.pull_request.head")
                || e.value.contains("github.head_ref")
                || e.value.contains("refs/pull/"))
    })?;
    let job = head.path.split('/').take(2).collect::<Vec<_>>().join("/");
    let of_job = |key: &str| {
        let path = format!("{job}/{key}");
        outline.entries.iter().filter(move |e| e.path == path)
    };
    // A label, a person's approval or a name stands before it.
    let gated = of_job("if").next().is_some() || of_job("environment").next().is_some();
    let steps = format!("{job}/steps/");
    let runs = outline
        .entries
        .iter()
        .filter(|e| e.line > head.line && e.path.starts_with(&steps))
        .any(|e| {
            e.path.ends_with("/run") || (e.path.ends_with("/uses") && e.value.starts_with("./"))
        });
    let found = at(
        "CIA006",
        &workflow.path,
        head.line,
        match (runs, gated) {
            (true, false) => "a pull request's own code runs with the repository's token and secrets",
            (true, true) => "a pull request's own code runs with the repository's token, behind a condition",
            (false, _) => "a pull request's own code is checked out beside the repository's token; no step of the job runs it",
        },
        format!("pull_request_target and ref: {}", head.value),
    )
    .hint("use pull_request, or split into a job without secrets and one without checkout");
    Some(if runs && !gated {
        found
    } else {
        as_info(found)
    })
}

fn sarif_permission(facts: &ProjectFacts) -> Judgement {
    let uploads: Vec<_> = actions(facts)
        .into_iter()
        .filter(|(_, _, action, _)| action.ends_with("upload-sarif"))
        .collect();
    applies(!uploads.is_empty(), "no workflow uploads SARIF")?;
    Ok(
        uploads
            .into_iter()
            .filter(|(w, ..)| !w.outline.keyed("security-events").any(|e| e.value == "write") && !w.outline.keyed("permissions").any(|e| e.value == "write-all"))
            .map(|(w, line, action, _)| {
                let place = w.outline.below("permissions").next().or_else(|| w.outline.keyed("permissions").next()).map_or(line, |e| e.line);
                at("CIA007", &w.path, place, "results are uploaded without the right to do so: the step fails on a private token", action).hint("permissions:\n  security-events: write")
            })
            .collect(),
    )
}

fn no_updates(facts: &ProjectFacts) -> Judgement {
    let has = facts.files.iter().any(|f| {
        matches!(
            f.as_str(),
            ".github/dependabot.yml"
                | ".github/dependabot.yaml"
                | "renovate.json"
                | ".github/renovate.json"
                | ".renovaterc"
                | ".renovaterc.json"
                | ".github/renovate.json5"
                | "renovate.json5"
        )
    });
    applies(
        facts.files.iter().any(|f| f.starts_with(".github/")),
        "not hosted with GitHub configuration",
    )?;
    if has {
        return pass();
    }
    one(finding(
        "CIA009",
        "nothing proposes updates of dependencies and actions",
    )
    .because(
        ".github/dependabot.yml",
        "absent, and no Renovate configuration",
    )
    .hint("add .github/dependabot.yml for pip, docker and github-actions"))
}

fn cuda_tested_and_documented(facts: &ProjectFacts) -> Judgement {
    let tested: std::collections::BTreeSet<String> = facts
        .workflows
        .iter()
        .flat_map(|w| w.outline.entries.iter())
        .filter(|e| e.path.contains("matrix") && e.path.to_ascii_lowercase().contains("cuda"))
        .flat_map(|e| items(&e.value))
        .filter_map(|v| {
            Version::parse(&v)
                .filter(|v| (10..20).contains(&v.major()))
                .map(|v| v.minor_name())
        })
        .collect();
    applies(!tested.is_empty(), "no CUDA versions in a CI matrix")?;
    let documented = super::docs::documented_cuda(facts);
    let Some((file, line, version)) = documented.first() else {
        return not_applicable("no CUDA version is documented");
    };
    let untested = documented.iter().all(|(_, _, v)| {
        !tested
            .iter()
            .any(|t| Version::parse(t).is_some_and(|t| t.major() == v.major()))
    });
    if !untested {
        return pass();
    }
    one(as_info(
        at(
            "CIA010",
            file,
            *line,
            format!(
                "CUDA {version} is documented, CI tests {}",
                tested.into_iter().collect::<Vec<_>>().join(", ")
            ),
            version.to_string(),
        )
        .hint("document what is tested"),
    ))
}

fn skipped_tests(facts: &ProjectFacts) -> Judgement {
    applies(facts.has_ci(), NO_CI)?;
    let skipping = facts
        .python
        .iter()
        .find_map(|p| Some((&p.path, p.skips_without_cuda?)));
    let Some((path, line)) = skipping else {
        return not_applicable("no test is skipped for want of CUDA");
    };
    if has_gpu_job(facts) {
        return pass();
    }
    one(at(
        "CIA011",
        path,
        line,
        "tests are skipped without CUDA, no job has a GPU, and nobody counts them",
        "skipif … cuda",
    )
    .hint("add a GPU job, and print the number of skipped tests (`pytest -rs`)"))
}

fn end_of_life(facts: &ProjectFacts) -> Judgement {
    applies(!facts.workflows.is_empty(), NO_WORKFLOWS)?;
    let mut findings = Vec::new();
    for workflow in &facts.workflows {
        for entry in &workflow.outline.entries {
            let key = entry.path.to_ascii_lowercase();
            let runner = key.ends_with("runs-on")
                || key.contains("matrix/os")
                || key.contains("matrix/include");
            if runner
                && let Some(word) = ["ubuntu-18.04", "ubuntu-20.04", "macos-12", "windows-2019"]
                    .iter()
                    .find(|w| entry.value.contains(**w))
            {
                findings.push(
                    at(
                        "CIA012",
                        &workflow.path,
                        entry.line,
                        format!("{word} is no longer offered: the job waits for ever"),
                        entry.value.clone(),
                    )
                    .hint("ubuntu-24.04"),
                );
            }
            let python = key
                .rsplit('/')
                .next()
                .is_some_and(|k| k.starts_with("python"))
                || key.contains("matrix/python");
            if python {
                let old: Vec<String> = items(&entry.value)
                    .into_iter()
                    .filter(|v| lifecycle().ended_python(v).is_some())
                    .collect();
                if !old.is_empty() {
                    findings.push(
                        at(
                            "CIA012",
                            &workflow.path,
                            entry.line,
                            format!("no security fixes any more for Python {}", old.join(", ")),
                            entry.value.clone(),
                        )
                        .hint(format!(
                            "test {} and newer",
                            lifecycle()
                                .oldest_python()
                                .unwrap_or("a Python that gets fixes")
                        )),
                    );
                }
            }
        }
    }
    Ok(findings)
}
