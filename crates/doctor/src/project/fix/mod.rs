//! Fixing by patch: local edits made from findings.
//!
//! Invariants: an edit touches the line of its finding, or adds a file or a block; planning reads
//! and never writes; every patch is proved ([`proof`], and by a compiler where there is one: [`compiler`]);
//! a second plan on the result is empty.

mod compiler;
mod edits;
mod headers;
mod image;
mod new_files;
mod proof;
mod python;
mod source;
mod workflow;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use warpsmith_core::Finding;
use warpsmith_formats::write_output;

use self::compiler::Compiled;
use self::edits::Edits;
use super::apart::{self, Include};
use super::facts::ProjectFacts;
use super::report::AuditError;
use super::rules;
use super::settings::ProjectSettings;
use super::walk;

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
pub enum PatchError {
    /// The file could not be written.
    #[error("cannot write `{file}`")]
    Write {
        /// The file.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file is another than the one that was read.
    #[error("`{0}` changed while the patch was made; nothing is written: run `audit --fix` again")]
    Changed(String),
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
pub fn fixable() -> Vec<&'static str> {
    fixers().into_iter().map(|(code, _)| code).collect()
}

/// Which fixes to plan.
#[derive(Clone, Copy, Debug, Default)]
pub struct FixOptions {
    /// Suggested fixes too: they change what the project does, and somebody must look at them.
    pub suggested: bool,
    /// Code apart that is fixed like the project's own.
    pub include: Include,
    /// Ask the compiler that is here about every patched source.
    pub compile: bool,
}

/// What `--fix` would do.
#[derive(Clone, Debug, Default)]
pub struct FixPlan {
    /// Whole new texts, proved.
    pub patches: Vec<Patch>,
    /// Findings whose fix is only suggested, and was not requested.
    pub suggestions: usize,
    /// Patches that were made and not offered: the file and why.
    pub refused: Vec<(String, String)>,
    /// Patched sources that a compiler accepts as it did before.
    pub compiled: usize,
    /// Patched sources about which no compiler says anything: the file and why.
    pub uncompiled: Vec<(String, String)>,
}

/// Rounds until nothing changes; a fix that opens the way for another needs two.
const ROUND_LIMIT: usize = 8;

/// What would fix the findings that have a local fix. Accepted findings are left alone.
///
/// The plan is a fixed point: the rules are run again on the new texts until no fix applies, and a
/// fix that does not end its own findings is taken back.
pub fn plan_fixes(root: &Path, options: &FixOptions) -> Result<FixPlan, AuditError> {
    if !root.is_dir() {
        return Err(AuditError::NotADirectory(root.to_owned()));
    }
    let mut facts = ProjectFacts::collect(root, ProjectSettings::read(root)?, options.include);
    let fixers: HashMap<&str, Fixer> = fixers().into_iter().collect();
    let mut plan = FixPlan::default();
    let mut made: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut codes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut banned: BTreeSet<String> = BTreeSet::new();
    let mut found = standing(&facts);
    plan.suggestions = match options.suggested {
        true => 0,
        false => found
            .iter()
            .filter(|f| fixers.contains_key(f.code.as_str()) && !is_safe(&f.code))
            .count(),
    };
    for _ in 0..ROUND_LIMIT {
        let wanted = |code: &str| (options.suggested || is_safe(code)) && !banned.contains(code);
        let mut edits = Edits::new(root, &made);
        // From the end of each file to its start: an inserted line moves only what is done already.
        found.sort_by_key(|f| std::cmp::Reverse(f.span.as_ref().map_or(0, |s| s.line)));
        for finding in found.iter().filter(|f| wanted(&f.code)) {
            if let Some((code, fix)) = fixers.get_key_value(finding.code.as_str()) {
                edits.begin(code);
                fix(finding, &facts, &mut edits);
            }
        }
        let mut round = edits.finish();
        round.retain(|patch| match proof::proved(patch) {
            Ok(()) => true,
            Err(why) => {
                plan.refused.push((patch.file.clone(), why));
                banned.extend(patch.codes.iter().cloned());
                false
            }
        });
        if round.is_empty() {
            break;
        }
        let new_texts = round
            .iter()
            .map(|patch| (patch.file.clone(), Some(patch.after.clone())))
            .collect();
        facts.reread(&new_texts);
        let after = standing(&facts);
        // A fix that leaves as many of its findings as before, and as grave, did something else.
        let count = |list: &[Finding], code: &str| -> usize {
            let of_code = list.iter().filter(|f| f.code == code);
            of_code.map(|f| 1 + f.severity as usize).sum()
        };
        let failed: BTreeSet<String> = round
            .iter()
            .flat_map(|patch| &patch.codes)
            .filter(|code| count(&after, code) >= count(&found, code))
            .cloned()
            .collect();
        let (back, kept): (Vec<Patch>, Vec<Patch>) = round
            .into_iter()
            .partition(|patch| patch.codes.iter().any(|code| failed.contains(code)));
        for patch in kept {
            codes
                .entry(patch.file.clone())
                .or_default()
                .extend(patch.codes);
            made.insert(patch.file, Some(patch.after));
        }
        found = if back.is_empty() {
            after
        } else {
            banned.extend(failed);
            let old_texts = back
                .into_iter()
                .map(|patch| (patch.file, patch.before))
                .collect();
            facts.reread(&old_texts);
            standing(&facts)
        };
    }
    for (file, after) in made {
        let before = walk::read(root, &file);
        if let Some(after) = after.filter(|after| before.as_ref() != Some(after)) {
            let codes = codes.remove(&file).unwrap_or_default();
            plan.patches.push(Patch {
                file,
                before,
                after,
                codes: codes.into_iter().collect(),
            });
        }
    }
    if options.compile {
        plan.compile(root, &facts);
    }
    Ok(plan)
}

impl FixPlan {
    /// Takes back what does not compile any more.
    fn compile(&mut self, root: &Path, facts: &ProjectFacts) {
        let answers = compiler::ask(root, facts, &self.patches);
        let patches = std::mem::take(&mut self.patches);
        for (patch, answer) in patches.into_iter().zip(answers) {
            match answer {
                Some(Compiled::Broken(error)) => {
                    let why = format!("it does not compile any more: {error}");
                    self.refused.push((patch.file, why));
                    continue;
                }
                Some(Compiled::Unknown(why)) => self.uncompiled.push((patch.file.clone(), why)),
                Some(Compiled::Yes) => self.compiled += 1,
                None => {}
            }
            self.patches.push(patch);
        }
    }
}

/// Findings that the project does not accept, outside of examples.
fn standing(facts: &ProjectFacts) -> Vec<Finding> {
    let found: Vec<Finding> = rules::run(facts)
        .into_iter()
        .filter_map(|result| match result.verdict {
            warpsmith_core::Verdict::Found(found) => Some(found),
            _ => None,
        })
        .flatten()
        .collect();
    let mut standing = super::suppression::split(facts, found).0;
    apart::leave_examples(facts, &mut standing);
    standing
}

/// Rules whose fix changes nothing that runs, or does what the project itself has written down: words
/// of documentation, the same list in the form that torch reads, commits that the project names.
const SAFE: [&str; 4] = ["BLD003", "CIA003", "CIA004", "DOC008"];

/// Whether `--fix` applies the fix of a rule without `--unsafe`.
pub fn is_safe(code: &str) -> bool {
    SAFE.contains(&code)
}

/// Writes patches; a script stays executable, and each file is the old one or the new one, whole.
pub fn apply_patches(root: &Path, patches: &[Patch]) -> Result<(), PatchError> {
    for patch in patches {
        if walk::read(root, &patch.file) != patch.before {
            return Err(PatchError::Changed(patch.file.clone()));
        }
    }
    for patch in patches {
        let path = root.join(&patch.file);
        let write = || -> std::io::Result<()> {
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            Ok(write_output(&path, patch.after.as_bytes())?)
        };
        write().map_err(|source| PatchError::Write {
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
    use crate::catalog::{Fix, PROJECT_RULES};

    #[test]
    fn the_catalogue_promises_the_patches_that_there_are() {
        let promised: BTreeSet<&str> = PROJECT_RULES
            .iter()
            .filter(|rule| rule.fix == Fix::Patch)
            .map(|rule| rule.code)
            .collect();
        assert_eq!(promised, fixable().into_iter().collect());
    }
}
