//! `.warpsmith.toml`, the project's own word on its audit: what is accepted, left out and pinned.
//!
//! Invariant: what is misspelt is an error with its line, never silently without effect.

use std::collections::BTreeMap;
use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use warpsmith_config::{ConfigError, Document, Entry, Owner, PROJECT_FILE};
use warpsmith_core::{Family, did_you_mean};

use super::report::AuditError;
use crate::catalog::rule_info;

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
        match Document::read(&root.join(PROJECT_FILE), Owner::Project)? {
            Some(document) => Self::of(root, &document),
            None => Ok(Self::default()),
        }
    }

    fn of(root: &Path, document: &Document) -> Result<Self, AuditError> {
        let audit = &document.audit;
        check_codes(document)?;
        let mut exclude = GitignoreBuilder::new(root);
        for pattern in &audit.exclude {
            exclude.add_line(None, &pattern.name).map_err(|error| {
                let why = format!("`{}` is not a pattern: {error}", pattern.name);
                document.error_at(pattern.span.clone(), why)
            })?;
        }
        let exclude = exclude.build().map_err(|error| {
            let place = audit
                .exclude
                .first()
                .map_or(0..0, |first| first.span.clone());
            document.error_at(place, format!("the patterns cannot be used: {error}"))
        })?;
        let pairs = |entries: &[Entry]| {
            let pairs = entries.iter();
            pairs
                .map(|one| (one.name.clone(), one.value.clone()))
                .collect()
        };
        Ok(Self {
            allow: pairs(&audit.allow),
            pins: pairs(&audit.pins),
            exclude,
        })
    }

    /// What the project's patterns say about a file: left out, its own whatever its folder is called,
    /// or nothing.
    pub(super) fn named(&self, path: &str) -> Named {
        let named = self.exclude.matched_path_or_any_parents(path, false);
        if named.is_ignore() {
            Named::Excluded
        } else if named.is_whitelist() {
            Named::Own
        } else {
            Named::Not
        }
    }
}

/// The project's word on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    Excluded,
    Own,
    Not,
}

/// Checks that every code of `[audit.allow]` exists and has a reason.
pub fn check_codes(document: &Document) -> Result<(), ConfigError> {
    for entry in &document.audit.allow {
        let code = &entry.name;
        if rule_info(code).is_none() {
            let codes = crate::FAMILIES.iter().flat_map(Family::stories);
            let advice = did_you_mean(
                code,
                codes.map(|story| story.code),
                "`warpsmith explain --list` names them all",
            );
            let why = format!("`[audit.allow]` names `{code}`, which is not a rule; {advice}");
            return Err(document.error_at(entry.span.clone(), why));
        }
        if entry.value.trim().is_empty() {
            let why = format!("`[audit.allow]` gives no reason for `{code}`");
            return Err(document.error_at(entry.span.clone(), why));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Result<ProjectSettings, AuditError> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(PROJECT_FILE), text).unwrap();
        ProjectSettings::read(folder.path())
    }

    #[test]
    fn patterns_leave_files_out_and_keep_them() {
        let settings =
            settings("[audit]\nexclude = [\"old/\", \"*.gen.cu\", \"!tests/fixtures/real\"]\n")
                .unwrap();
        for (path, expected) in [
            ("old/k.cu", Named::Excluded),
            ("k.gen.cu", Named::Excluded),
            ("tests/fixtures/real/k.cu", Named::Own),
            ("tests/fixtures/bad/setup.py", Named::Not),
            ("src/old.cu", Named::Not),
        ] {
            assert_eq!(settings.named(path), expected, "{path}");
        }
    }

    #[test]
    fn what_is_misspelt_is_an_error_with_its_line() {
        let said = |text: &str| settings(text).err().map(|error| error.to_string());
        let unknown = said("[audit]\nexcludes = []\n").unwrap();
        assert!(
            unknown.contains(".warpsmith.toml:2:1") && unknown.contains("did you mean `exclude`?"),
            "{unknown}"
        );
        let broken = said("[audit\n").unwrap();
        assert!(broken.contains(".warpsmith.toml:1:"), "{broken}");
        let code = said("[audit.allow]\nXYZ999 = \"why\"\n").unwrap();
        assert!(code.contains(":2:1: ") && code.contains("XYZ999"), "{code}");
        let near = said("[audit.allow]\nDKR01 = \"why\"\n").unwrap();
        assert!(near.contains("did you mean `DKR001`"), "{near}");
        assert!(
            said("[audit.allow]\nDKR001 = \" \"\n")
                .unwrap()
                .contains("no reason")
        );
        assert!(said("").is_none());
    }
}
