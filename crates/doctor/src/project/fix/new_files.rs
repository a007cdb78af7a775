//! Mending by adding a file or a block of documentation.

use warpsmith_core::Finding;

use super::Fixer;
use super::edits::Edits;
use crate::compat::database;
use crate::project::facts::ProjectFacts;

pub(super) const FIXERS: &[(&str, Fixer)] = &[
    ("BLD015", |_, facts, edits| {
        workflow(facts, edits, ".github/workflows/wheels.yml", WHEELS)
    }),
    ("CIA001", |_, facts, edits| {
        workflow(facts, edits, ".github/workflows/gpu-tests.yml", GPU_TESTS)
    }),
    ("CIA002", |_, facts, edits| {
        workflow(facts, edits, ".github/workflows/cuda-build.yml", CUDA_BUILD)
    }),
    ("CIA008", |_, facts, edits| {
        workflow(facts, edits, ".github/workflows/dependency-scan.yml", SCAN)
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
        workflow(facts, edits, ".github/workflows/sanitizer.yml", SANITIZER)
    }),
];

const WHEELS: &str = "name: wheels
on:
  push:
    tags: ['v*']
permissions:
  contents: read
jobs:
  build:
    runs-on: ubuntu-24.04
    container: nvidia/cuda:12.8.1-devel-ubuntu24.04
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
    container: nvidia/cuda:12.8.1-devel-ubuntu24.04
    env:
      TORCH_CUDA_ARCH_LIST: '7.5;8.0;8.6;8.9;9.0+PTX'
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
    const CHECKOUT: &str = "actions/checkout";
    let text = match facts.action_pins().get(CHECKOUT) {
        Some(pin) => template.replace(&format!("{CHECKOUT}@v4"), &format!("{CHECKOUT}@{pin}")),
        None => template.to_owned(),
    };
    edits.create(path, &text);
}

fn dependabot(_: &Finding, facts: &ProjectFacts, edits: &mut Edits<'_>) {
    let mut text = String::from("version: 2\nupdates:\n");
    let mut add = |ecosystem: &str| {
        text += &format!(
            "  - package-ecosystem: {ecosystem}\n    directory: /\n    schedule:\n      interval: weekly\n"
        );
    };
    if !facts.workflows.is_empty() {
        add("github-actions");
    }
    if facts.demands().next().is_some() || !facts.setups.is_empty() {
        add("pip");
    }
    if !facts.dockerfiles.is_empty() {
        add("docker");
    }
    edits.create(".github/dependabot.yml", &text);
}

/// A table of what the project builds for, from its lists and the database.
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
    let major = facts
        .dockerfiles
        .iter()
        .flat_map(|f| &f.stages)
        .find_map(|s| {
            s.base
                .split(':')
                .nth(1)
                .and_then(crate::version::Version::parse)
        })
        .map_or(12, |v| v.major())
        .clamp(11, 13);
    let Some(floor) = database().driver_floor(major) else {
        return;
    };
    let newest = database()
        .cuda_toolkits
        .iter()
        .rev()
        .find(|t| t.sm_targets.is_some() && t.toolkit.starts_with(&format!("{major}.")))
        .map_or(format!("{major}.0"), |t| t.toolkit.clone());
    let lowest = facts
        .setups
        .iter()
        .flat_map(|s| s.gencode.cubins.iter())
        .map(|t| t.capability)
        .min()
        .map_or("7.5".to_owned(), |c| c.to_string());
    let uses_cudnn = facts
        .cuda
        .iter()
        .chain(&facts.cxx)
        .any(|f| f.includes.iter().any(|i| i.name.starts_with("cudnn")));
    let cudnn = if uses_cudnn { "| cuDNN | 9 |\n" } else { "" };
    edits.append(
        &readme,
        &format!("\n## GPU compatibility\n\n| | lowest |\n|---|---|\n| CUDA {newest} | NVIDIA driver {floor} |\n| GPU | compute capability {lowest} |\n{cudnn}"),
    );
}

fn community(finding: &Finding, _: &ProjectFacts, edits: &mut Edits<'_>) {
    if finding.message.contains("CHANGELOG") {
        edits.create("CHANGELOG.md", "# Changelog\n\n## Unreleased\n");
    }
    if finding.message.contains("SECURITY") {
        edits.create("SECURITY.md", "# Security\n\nReport vulnerabilities in private, through the repository's security advisories, and not in public issues.\n");
    }
    if finding.message.contains("CONTRIBUTING") {
        edits.create("CONTRIBUTING.md", "# Contributing\n\nBuild the extension, run the tests on a GPU, and say in the pull request on which GPU and driver they passed.\n");
    }
}
