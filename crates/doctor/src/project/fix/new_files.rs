//! Fixing by adding a file or a block of documentation.

use std::collections::BTreeSet;

use warpsmith_core::Finding;

use super::Fixer;
use super::edits::Edits;
use crate::project::arch_list;
use crate::project::facts::{ProjectFacts, is_test};
use crate::project::rules::{arch_lists, pinned_cuda};
use warpsmith_compatibility::database;

pub(super) const FIXERS: &[(&str, Fixer)] = &[
    ("BLD015", |_, facts, edits| {
        if is_package(facts) {
            workflow(facts, edits, ".github/workflows/wheels.yml", WHEELS);
        }
    }),
    ("CIA001", |_, facts, edits| {
        if has_pytest_files(facts) {
            workflow(facts, edits, ".github/workflows/gpu-tests.yml", GPU_TESTS);
        }
    }),
    ("CIA002", |_, facts, edits| {
        if is_package(facts) {
            workflow(facts, edits, ".github/workflows/cuda-build.yml", CUDA_BUILD);
        }
    }),
    ("CIA008", |_, facts, edits| {
        if is_package(facts) || at_root(facts, "requirements.txt") {
            workflow(facts, edits, ".github/workflows/dependency-scan.yml", SCAN);
        }
    }),
    ("CIA009", dependabot),
    ("DKR009", |_, _, edits| {
        edits.create(
            ".dockerignore",
            ".git\n.github\n.venv\n__pycache__\n*.egg-info\nbuild\ndist\n.env\n",
        )
    }),
    ("DOC001", compatibility),
    ("DOC002", compatibility),
    ("DOC003", compatibility),
    ("DOC004", compatibility),
    ("DOC006", community),
    ("TST004", |_, facts, edits| {
        if has_pytest_files(facts) {
            workflow(facts, edits, ".github/workflows/sanitizer.yml", SANITIZER);
        }
    }),
];

fn at_root(facts: &ProjectFacts, name: &str) -> bool {
    facts.files.iter().any(|file| file == name)
}

/// Whether `pip install .` has something to install.
fn is_package(facts: &ProjectFacts) -> bool {
    at_root(facts, "setup.py") || at_root(facts, "pyproject.toml")
}

/// Whether pytest finds tests by their file names; how others are run is not known.
fn has_pytest_files(facts: &ProjectFacts) -> bool {
    facts.python.iter().any(|file| {
        let name = file.path.rsplit('/').next().unwrap_or("");
        name.starts_with("test_") || name.ends_with("_test.py")
    })
}

const WHEELS: &str = "name: wheels
on:
  push:
    tags: ['v*']
permissions:
  contents: read
jobs:
  build:
    runs-on: ubuntu-24.04
    container: nvidia/cuda:12.8.2-devel-ubuntu24.04
    steps:
      - uses: actions/checkout@v4
      - run: |
          apt-get update && apt-get install -y python3-pip python3-venv
          python3 -m venv /opt/build && . /opt/build/bin/activate
          pip install build
          python -m build
";

const GPU_TESTS: &str = "name: gpu-tests
on: [pull_request]
permissions:
  contents: read
jobs:
  test:
    # Labels of your own GPU machine.
    runs-on: [self-hosted, linux, gpu]
    steps:
      - uses: actions/checkout@v4
      - run: python -m pytest -rs
";

const CUDA_BUILD: &str = "name: cuda-build
on: [pull_request]
permissions:
  contents: read
jobs:
  compile:
    # Compiling needs no GPU.
    runs-on: ubuntu-24.04
    container: nvidia/cuda:12.8.2-devel-ubuntu24.04
    env:
      # What CUDA 12.8 compiles for; take out what you do not support.
      TORCH_CUDA_ARCH_LIST: '7.0;7.5;8.0;8.6;8.9;9.0;10.0;12.0+PTX'
      FORCE_CUDA: '1'
    steps:
      - uses: actions/checkout@v4
      - run: |
          apt-get update && apt-get install -y python3-pip python3-venv
          python3 -m venv /opt/build && . /opt/build/bin/activate
          pip install torch setuptools wheel ninja
          pip install --no-build-isolation .
";

const SCAN: &str = "name: dependency-scan
on:
  schedule:
    - cron: '0 5 * * 1'
  pull_request:
permissions:
  contents: read
jobs:
  audit:
    runs-on: ubuntu-24.04
    steps:
      - uses: actions/checkout@v4
      - run: |
          pip install pip-audit
          if [ -f requirements.txt ]; then pip-audit -r requirements.txt; else pip-audit; fi
";

const SANITIZER: &str = "name: sanitizer
on:
  schedule:
    - cron: '0 3 * * 0'
permissions:
  contents: read
jobs:
  memcheck:
    runs-on: [self-hosted, linux, gpu]
    steps:
      - uses: actions/checkout@v4
      - run: |
          compute-sanitizer --tool memcheck python -m pytest -x
          compute-sanitizer --tool racecheck python -m pytest -x
";

/// A new workflow, its action pinned where the project gives a commit for it.
fn workflow(facts: &ProjectFacts, edits: &mut Edits<'_>, path: &str, template: &str) {
    // A project without GitHub workflows has its CI elsewhere, or none on purpose.
    if facts.workflows.is_empty() {
        return;
    }
    const CHECKOUT: &str = "actions/checkout";
    let text = match facts.action_pins().get(CHECKOUT) {
        Some(pin) => template.replace(&format!("{CHECKOUT}@v4"), &format!("{CHECKOUT}@{pin}")),
        None => template.to_owned(),
    };
    edits.create(path, &text);
}

fn dependabot(_: &Finding, facts: &ProjectFacts, edits: &mut Edits<'_>) {
    // Dependabot fails on a folder without a manifest, so each is named.
    let folder = |path: &str| match path.rsplit_once('/') {
        Some((folder, _)) => format!("/{folder}"),
        None => "/".to_owned(),
    };
    let workflows = facts.workflows.iter().map(|_| "/".to_owned());
    let setups = facts.setups.iter().map(|s| folder(&s.path));
    let pip = facts.demands().map(|r| folder(&r.file)).chain(setups);
    let docker = facts.dockerfiles.iter().map(|d| folder(&d.path));
    let ecosystems: [(&str, BTreeSet<String>); 3] = [
        ("github-actions", workflows.collect()),
        ("pip", pip.collect()),
        ("docker", docker.collect()),
    ];
    let mut text = String::from("version: 2\nupdates:\n");
    for (ecosystem, folders) in ecosystems.iter().filter(|(_, f)| !f.is_empty()) {
        text += &format!("  - package-ecosystem: {ecosystem}\n    directories:\n");
        for folder in folders {
            text += &format!("      - '{}'\n", folder.replace('\'', "''"));
        }
        text += "    schedule:\n      interval: weekly\n";
    }
    if ecosystems.iter().any(|(_, folders)| !folders.is_empty()) {
        edits.create(".github/dependabot.yml", &text);
    }
}

/// A table of what the project builds for: only what its own files say, and what the database knows
/// of that. Nothing is put down that nobody wrote.
fn compatibility(finding: &Finding, facts: &ProjectFacts, edits: &mut Edits<'_>) {
    let Some(readme) = facts.readme().map(|d| d.path.clone()) else {
        return;
    };
    // A README that contradicts itself is for a human.
    if finding.message.contains("contradicts")
        || !readme.ends_with(".md")
        || edits.contains(&readme, "## GPU compatibility")
    {
        return;
    }
    // What another fix changes now is read again in the next round.
    if arch_lists(facts)
        .iter()
        .any(|list| edits.is_touched(&list.file))
    {
        return;
    }
    let mut rows = String::new();
    if let Some((file, _, cuda)) = pinned_cuda(facts).into_iter().next()
        && let Some(floor) = database().driver_floor(cuda.major())
    {
        rows += &format!(
            "| CUDA {} (`{file}`) | NVIDIA driver {floor} |\n",
            cuda.minor_name()
        );
    }
    let lowest = arch_lists(facts)
        .into_iter()
        .filter(|list| !is_test(&list.file) && is_own(&list.file, edits))
        .filter_map(|list| {
            let lowest = list.coverage.cubins.iter().map(|t| t.capability).min()?;
            Some((lowest, list.file))
        })
        .min();
    if let Some((lowest, file)) = lowest {
        rows += &format!("| GPU (`{file}`) | compute capability {lowest} |\n");
    }
    let cudnn = facts
        .dockerfiles
        .iter()
        .flat_map(|file| file.stages.iter().map(move |stage| (file, stage)))
        .find_map(|(file, stage)| {
            let digits: String = stage
                .base
                .split("cudnn")
                .nth(1)?
                .chars()
                .take_while(char::is_ascii_digit)
                .collect();
            (!digits.is_empty()).then_some((file.path.as_str(), digits))
        });
    if let Some((file, version)) = cudnn {
        rows += &format!("| cuDNN (`{file}`) | {version} |\n");
    }
    if !rows.is_empty() {
        edits.append(
            &readme,
            &format!("\n## GPU compatibility\n\n| | lowest |\n|---|---|\n{rows}"),
        );
    }
}

/// Whether the architectures of a file are what its people wrote, and not the default of a fix.
fn is_own(file: &str, edits: &mut Edits<'_>) -> bool {
    !edits.contains(file, arch_list::MARK)
}

/// Files that only the project's people can fill: each says what belongs there.
fn community(finding: &Finding, _: &ProjectFacts, edits: &mut Edits<'_>) {
    if finding.message.contains("CHANGELOG") {
        edits.create("CHANGELOG.md", "# Changelog\n\n## Unreleased\n");
    }
    if finding.message.contains("SECURITY") {
        edits.create("SECURITY.md", "# Security\n\n<!-- Fill in: where to report a vulnerability in private, and when to expect an answer. -->\n");
    }
    if finding.message.contains("CONTRIBUTING") {
        edits.create("CONTRIBUTING.md", "# Contributing\n\n<!-- Fill in: how to build, how to run the tests, and what a pull request must say. -->\n");
    }
}
