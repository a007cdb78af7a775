//! Mending by patch: local edits made from findings.
//!
//! Invariants: an edit touches the line of its finding, or adds a file or a block; planning reads
//! and never writes; a second plan on the result is empty (tested rule by rule).

mod edits;
mod image;
mod new_files;
mod python;
mod source;
mod workflow;

use std::path::Path;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use warpsmith_core::Finding;
use warpsmith_formats::write_output;

use self::edits::Edits;
use super::facts::ProjectFacts;
use super::report::AuditError;
use super::rules;
use super::settings::ProjectSettings;

/// A file's new text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patch {
    /// The file.
    pub file: String,
    /// Its text before; absent where it is new.
    pub before: Option<String>,
    /// Its text after.
    pub after: String,
    /// The rules that requested it.
    pub codes: Vec<String>,
}

/// Why a patch could not be written.
#[derive(Debug, Error)]
#[error("cannot write `{file}`")]
pub struct PatchError {
    file: String,
    source: std::io::Error,
}

/// The file and line of a finding.
fn place(finding: &Finding) -> Option<(&str, u32)> {
    finding.span.as_ref().map(|s| (s.file.as_str(), s.line))
}

/// The file and line of a finding, and what was seen there: its first evidence.
fn quoted(finding: &Finding) -> Option<(&str, u32, &str)> {
    let (file, line) = place(finding)?;
    Some((file, line, &finding.evidence.first()?.seen))
}

/// Fixes one finding.
type Fixer = fn(&Finding, &ProjectFacts, &mut Edits<'_>);

/// Rules that `--fix` fixes.
fn fixers() -> Vec<(&'static str, Fixer)> {
    [
        image::FIXERS,
        new_files::FIXERS,
        python::FIXERS,
        source::FIXERS,
        workflow::FIXERS,
    ]
    .concat()
}

/// The codes that `--fix` fixes.
pub fn mendable() -> Vec<&'static str> {
    fixers().into_iter().map(|(code, _)| code).collect()
}

/// What would mend the findings that have a local mending. Accepted findings are left alone.
pub fn plan_fixes(root: &Path) -> Result<Vec<Patch>, AuditError> {
    if !root.is_dir() {
        return Err(AuditError::NotADirectory(root.to_owned()));
    }
    let facts = ProjectFacts::collect(root, ProjectSettings::read(root)?);
    let found: Vec<Finding> = rules::run(&facts)
        .into_iter()
        .filter_map(|result| match result.verdict {
            warpsmith_core::Verdict::Found(found) => Some(found),
            _ => None,
        })
        .flatten()
        .collect();
    let (mut found, _) = super::suppression::split(&facts, found);
    // From the end of each file to its start: an inserted line moves only what is done already.
    found.sort_by_key(|f| std::cmp::Reverse(f.span.as_ref().map_or(0, |s| s.line)));
    let mut edits = Edits::new(root);
    for finding in &found {
        for (code, fix) in fixers() {
            if code == finding.code {
                edits.begin(code);
                fix(finding, &facts, &mut edits);
            }
        }
    }
    Ok(edits.finish())
}

/// Writes patches; a script stays executable, and each file is the old one or the new one, whole.
pub fn apply_patches(root: &Path, patches: &[Patch]) -> Result<(), PatchError> {
    for patch in patches {
        let path = root.join(&patch.file);
        let write = || -> std::io::Result<()> {
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            Ok(write_output(&path, patch.after.as_bytes())?)
        };
        write().map_err(|source| PatchError {
            file: patch.file.clone(),
            source,
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::catalog::{Mend, PROJECT_RULES};

    #[test]
    fn the_catalogue_promises_the_patches_that_there_are() {
        let promised: BTreeSet<&str> = PROJECT_RULES
            .iter()
            .filter(|rule| rule.mend == Mend::Patch)
            .map(|rule| rule.code)
            .collect();
        assert_eq!(promised, mendable().into_iter().collect());
    }
}
