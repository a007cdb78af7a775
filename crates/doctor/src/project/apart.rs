//! Code inside a project that is counted apart from its own: inputs of tests, other people's code, and
//! examples.
//!
//! Fixtures and vendored code are not judged: their faults are on purpose, or somebody else's. Examples
//! are judged, and neither the score nor the list of findings has them. `--include` makes any of the
//! three the project's own.

use serde::{Deserialize, Serialize};
use warpsmith_core::{Finding, Severity};

use super::facts::ProjectFacts;

/// Whose code a file is, where it is not simply the project's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Apart {
    /// Inputs of tests.
    Fixtures,
    /// Other people's code: `third_party`, submodules, copied releases.
    Vendored,
    /// Examples, samples, demos and tutorials.
    Examples,
}

/// Folders whose files are inputs of tests.
const FIXTURES: [&str; 6] = [
    "fixture",
    "fixtures",
    "__fixtures__",
    "testdata",
    "test_data",
    "test-data",
];

/// Folders of other people's code.
const VENDORED: [&str; 13] = [
    "third_party",
    "3rdparty",
    "third-party",
    "thirdparty",
    "external",
    "externals",
    "vendor",
    "vendored",
    "dependencies",
    "submodules",
    "extern",
    "deps",
    "3rd_party",
];

const EXAMPLES: [&str; 8] = [
    "example",
    "examples",
    "sample",
    "samples",
    "demo",
    "demos",
    "tutorial",
    "tutorials",
];

/// Libraries that people copy into their projects. A folder of this name with a licence of its own is
/// one of them.
const COPIED: [&str; 16] = [
    "catch2",
    "cub",
    "cuda-api-wrappers",
    "cuda-samples",
    "cutlass",
    "eigen",
    "eigen3",
    "glm",
    "googletest",
    "gtest",
    "json",
    "moderngpu",
    "pybind11",
    "spdlog",
    "thrust",
    "yaml-cpp",
];

/// Folders of other people's releases, with a slash behind them: `cub-1.8.0/`, and libraries of
/// [`COPIED`]. A release that is the whole project is its own.
pub(super) fn copied_folders(files: &[String]) -> Vec<String> {
    let mut folders: Vec<String> = Vec::new();
    for path in files {
        let Some((folder, file)) = path.rsplit_once('/') else {
            continue;
        };
        let name = folder.rsplit('/').next().unwrap_or(folder);
        let lower = file.to_ascii_lowercase();
        let begins = |words: &[&str]| words.iter().any(|word| lower.starts_with(word));
        let licensed = begins(&["licen", "copying", "copyright"]);
        let released = licensed || begins(&["readme", "change", "configure", "cmakelists"]);
        let known = COPIED.iter().any(|one| one.eq_ignore_ascii_case(name));
        if known && licensed || released && has_version(name) {
            folders.push(format!("{folder}/"));
        }
    }
    folders.dedup();
    let inside = |path: &String| folders.iter().any(|f| path.starts_with(f.as_str()));
    let own_code = |path: &&String| {
        use super::walk::{Kind, kind};
        matches!(kind(path), Kind::Cuda | Kind::Cxx | Kind::Python)
    };
    if !folders.is_empty() && files.iter().filter(own_code).all(inside) {
        return Vec::new();
    }
    folders
}

/// `cub-1.8.0`, `eigen_3.3`: a name, and a version with a dot behind it.
fn has_version(name: &str) -> bool {
    // Systems and toolkits that something is built for, not what is built.
    const PLATFORMS: [&str; 7] = [
        "cuda", "python", "ubuntu", "debian", "rocm", "torch", "pytorch",
    ];
    name.rsplit_once(['-', '_']).is_some_and(|(name, version)| {
        let version = version.strip_prefix('v').unwrap_or(version);
        let numbers = version.chars().all(|c| c.is_ascii_digit() || c == '.');
        let named = name.chars().filter(char::is_ascii_alphabetic).count() > 1;
        let platform = PLATFORMS.iter().any(|p| p.eq_ignore_ascii_case(name));
        named && numbers && version.contains('.') && !platform
    })
}

impl Apart {
    /// By the names of a path's folders, and the submodules that the project has (`path/`).
    pub(super) fn of(path: &str, submodules: &[String]) -> Option<Self> {
        let folders = path.rsplit_once('/')?.0;
        let named = |names: &[&str]| {
            let is = |folder: &str| names.iter().any(|name| name.eq_ignore_ascii_case(folder));
            folders.split('/').any(is)
        };
        if named(&VENDORED) || submodules.iter().any(|s| path.starts_with(s.as_str())) {
            return Some(Self::Vendored);
        }
        if named(&FIXTURES) {
            return Some(Self::Fixtures);
        }
        named(&EXAMPLES).then_some(Self::Examples)
    }

    /// As `--include` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fixtures => "fixtures",
            Self::Vendored => "vendored",
            Self::Examples => "examples",
        }
    }

    /// What its files are.
    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::Fixtures => "inputs of tests",
            Self::Vendored => "other people's code",
            Self::Examples => "examples",
        }
    }
}

/// What counts as the project's own although its folder says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Include {
    /// Inputs of tests.
    pub fixtures: bool,
    /// Other people's code.
    pub vendored: bool,
    /// Examples.
    pub examples: bool,
}

impl Include {
    pub(super) fn has(self, apart: Apart) -> bool {
        match apart {
            Apart::Fixtures => self.fixtures,
            Apart::Vendored => self.vendored,
            Apart::Examples => self.examples,
        }
    }
}

/// What one kind of code apart amounts to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApartCount {
    /// The kind.
    pub kind: Apart,
    /// Its files.
    pub files: usize,
    /// Errors in them; absent where they are not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<usize>,
    /// Warnings in them; absent where they are not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warnings: Option<usize>,
}

/// Takes the findings of examples out of a rule's.
pub(super) fn leave_examples(facts: &ProjectFacts, findings: &mut Vec<Finding>) -> Vec<Finding> {
    let in_example = |finding: &mut Finding| {
        let file = finding.span.as_ref().map(|span| span.file.as_str());
        file.is_some_and(|file| facts.is_example(file))
    };
    findings.extract_if(.., in_example).collect()
}

/// Counts files and what was found in examples.
pub(super) fn counts(facts: &ProjectFacts, in_examples: &[Finding]) -> Vec<ApartCount> {
    let of = |severity: Severity| {
        let found = in_examples.iter().filter(|f| f.severity == severity);
        Some(found.count())
    };
    let examples = facts.files.iter().filter(|path| facts.is_example(path));
    [
        (Apart::Fixtures, facts.fixtures.len(), None, None),
        (Apart::Vendored, facts.vendored_files, None, None),
        (
            Apart::Examples,
            examples.count(),
            of(Severity::Error),
            of(Severity::Warning),
        ),
    ]
    .into_iter()
    .filter(|(_, files, ..)| *files > 0)
    .map(|(kind, files, errors, warnings)| ApartCount {
        kind,
        files,
        errors,
        warnings,
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_say_whose_code_it_is() {
        let submodules = ["ext/cutlass/".to_owned()];
        for (path, expected) in [
            ("third_party/cub/cub.cuh", Some(Apart::Vendored)),
            ("thirdParty/alpaka/a.hpp", Some(Apart::Vendored)),
            ("ext/cutlass/gemm.h", Some(Apart::Vendored)),
            ("third_party/cub/examples/a.cu", Some(Apart::Vendored)),
            ("tests/fixtures/bad/setup.py", Some(Apart::Fixtures)),
            ("examples/a/Dockerfile", Some(Apart::Examples)),
            ("src/a.cu", None),
            ("examples.py", None),
            ("ext/mine.cu", None),
            ("vendor", None),
        ] {
            assert_eq!(Apart::of(path, &submodules), expected, "{path}");
        }
    }

    #[test]
    fn a_release_that_was_copied_is_other_peoples_code() {
        let copied = |files: &[&str]| {
            let files: Vec<String> = files.iter().map(|f| (*f).to_owned()).collect();
            copied_folders(&files)
        };
        let own = "src/a.cu";
        assert_eq!(copied(&[own, "cub/LICENSE.TXT", "cub/cub/a.cuh"]), ["cub/"]);
        assert!(copied(&[own, "cub/a.cuh"]).is_empty());
        let release = "lib/cub-1.8.0/README.md";
        assert_eq!(copied(&[own, release]), ["lib/cub-1.8.0/"]);
        // Images for a system, and a project that is one release.
        assert!(copied(&[own, "docker/ubuntu-22.04/README.md"]).is_empty());
        assert!(copied(&["mine-1.0/README.md", "mine-1.0/a.cu"]).is_empty());
    }
}
