//! `.warpsmith.toml`, the project's own word on its audit: what is accepted, left out and pinned.
//!
//! Invariant: what is misspelt is an error with its line, never silently without effect.

use std::collections::BTreeMap;
use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use serde::Deserialize;

use super::report::AuditError;
use crate::catalog::rule_info;

/// The file's name, in the root of the project.
pub(super) const FILE: &str = ".warpsmith.toml";

/// Folders whose files are inputs of tests: their faults are on purpose.
const FIXTURES: [&str; 6] = [
    "fixture",
    "fixtures",
    "__fixtures__",
    "testdata",
    "test_data",
    "test-data",
];

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    audit: Audit,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Audit {
    /// Code and reason.
    #[serde(default)]
    allow: BTreeMap<String, String>,
    /// Paths that are not judged, as in `.gitignore`.
    #[serde(default)]
    exclude: Vec<String>,
    /// Action and commit.
    #[serde(default)]
    pins: BTreeMap<String, String>,
}

/// What the project says about its audit.
#[derive(Debug)]
pub(crate) struct ProjectSettings {
    /// Codes that are accepted, with the reason.
    pub(super) allow: BTreeMap<String, String>,
    /// Commits for actions.
    pub(super) pins: BTreeMap<String, String>,
    exclude: Gitignore,
}

impl Default for ProjectSettings {
    fn default() -> Self {
        Self {
            allow: BTreeMap::new(),
            pins: BTreeMap::new(),
            exclude: Gitignore::empty(),
        }
    }
}

impl ProjectSettings {
    /// Reads the file in `root`; where there is none, nothing is said.
    pub(super) fn read(root: &Path) -> Result<Self, AuditError> {
        let path = root.join(FILE);
        let wrong = |why: String| AuditError::Settings {
            path: path.clone(),
            why,
        };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(wrong(error.to_string())),
        };
        let File { audit } = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        for (code, reason) in &audit.allow {
            if rule_info(code).is_none() {
                return Err(wrong(format!(
                    "`[audit.allow]` names `{code}`, which is not a rule; `warpsmith explain` lists them"
                )));
            }
            if reason.trim().is_empty() {
                return Err(wrong(format!(
                    "`[audit.allow]` gives no reason for `{code}`"
                )));
            }
        }
        let mut exclude = GitignoreBuilder::new(root);
        for pattern in &audit.exclude {
            exclude.add_line(None, pattern).map_err(|error| {
                wrong(format!("`exclude` has the pattern `{pattern}`: {error}"))
            })?;
        }
        Ok(Self {
            allow: audit.allow,
            pins: audit.pins,
            exclude: exclude.build().map_err(|error| wrong(error.to_string()))?,
        })
    }

    /// Whether a file below the root is not judged: excluded by the project, or an input of tests.
    pub(super) fn excludes(&self, path: &str) -> bool {
        let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
        let is_fixture = folders.split('/').any(|folder| FIXTURES.contains(&folder));
        let named = self.exclude.matched_path_or_any_parents(path, false);
        named.is_ignore() || (is_fixture && !named.is_whitelist())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Result<ProjectSettings, AuditError> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), text).unwrap();
        ProjectSettings::read(folder.path())
    }

    #[test]
    fn fixtures_and_what_the_project_names_are_not_judged() {
        let settings =
            settings("[audit]\nexclude = [\"old/\", \"*.gen.cu\", \"!tests/fixtures/real\"]\n")
                .unwrap();
        for excluded in [
            "tests/fixtures/bad/setup.py",
            "a/testdata/x.cu",
            "old/k.cu",
            "k.gen.cu",
        ] {
            assert!(settings.excludes(excluded), "{excluded}");
        }
        for judged in [
            "setup.py",
            "fixtures.py",
            "src/old.cu",
            "tests/fixtures/real/k.cu",
        ] {
            assert!(!settings.excludes(judged), "{judged}");
        }
    }

    #[test]
    fn what_is_misspelt_is_an_error_with_its_line() {
        let said = |text: &str| settings(text).err().map(|error| error.to_string());
        let unknown = said("[audit]\nexcludes = []\n").unwrap();
        assert!(
            unknown.contains("line 2") && unknown.contains("excludes"),
            "{unknown}"
        );
        let broken = said("[audit\n").unwrap();
        assert!(broken.contains("line 1"), "{broken}");
        let code = said("[audit.allow]\nXYZ999 = \"why\"\n").unwrap();
        assert!(code.contains("XYZ999"), "{code}");
        assert!(
            said("[audit.allow]\nDKR001 = \" \"\n")
                .unwrap()
                .contains("no reason")
        );
        assert!(said("").is_none());
    }
}
