//! Findings that the project accepts, with its reason.
//!
//! `# warpsmith: allow DKR001 runs rootless` on the line or the line above, or a table
//! `[audit.allow]` in `.warpsmith.toml`: `DKR001 = "runs rootless"`. A suppression without a reason
//! is not one.

use serde::{Deserialize, Serialize};
use warpsmith_config::PROJECT_FILE;
use warpsmith_core::Finding;

use super::facts::ProjectFacts;
use crate::catalog::rule_info;

/// A finding that is accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Suppressed {
    /// What was found.
    pub finding: Finding,
    /// Why the project accepts it.
    pub reason: String,
    /// Where it says so.
    pub source: String,
}

const MARK: &str = "warpsmith: allow ";

/// Lines of a text that carry a suppression.
pub(super) fn comments(text: &str) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    let (mut line, mut counted) = (1u32, 0);
    for at in memchr::memmem::find_iter(text.as_bytes(), MARK.as_bytes()) {
        line += u32::try_from(text[counted..at].matches('\n').count()).unwrap_or(0);
        counted = at;
        let rest = text[at..].lines().next().unwrap_or("");
        found.push((line, rest.to_owned()));
    }
    found
}

/// Divides findings into those that stand and those that the project accepts.
pub(super) fn split(
    facts: &ProjectFacts,
    findings: Vec<Finding>,
) -> (Vec<Finding>, Vec<Suppressed>) {
    let mut kept = Vec::new();
    let mut suppressed = Vec::new();
    for finding in findings {
        let configured = facts
            .settings
            .allow
            .get(&finding.code)
            .map(|reason| (reason.clone(), PROJECT_FILE.to_owned()));
        match configured.or_else(|| by_comment(facts, &finding)) {
            Some((reason, source)) => suppressed.push(Suppressed {
                finding,
                reason,
                source,
            }),
            None => kept.push(finding),
        }
    }
    (kept, suppressed)
}

/// A comment on the line of the finding or of its evidence, or on the line above.
fn by_comment(facts: &ProjectFacts, finding: &Finding) -> Option<(String, String)> {
    if facts.suppressions.is_empty() {
        return None;
    }
    let span = finding.span.as_ref()?;
    let evidence = finding.evidence.iter().filter_map(|e| {
        let (file, line) = e.source.rsplit_once(':')?;
        (file == span.file).then(|| line.parse().ok())?
    });
    std::iter::once(span.line)
        .chain(evidence)
        .flat_map(|line: u32| [line, line.saturating_sub(1)])
        .find_map(|line| {
            let text = facts.suppressions.get(&(span.file.clone(), line))?;
            let reason = comment(text, &finding.code)?;
            Some((reason, format!("{}:{line}", span.file)))
        })
}

/// Comments that accept nothing: an unknown code, or no reason.
pub(super) fn faults(facts: &ProjectFacts) -> Vec<(String, String)> {
    let said = facts
        .suppressions
        .iter()
        .filter_map(|((file, line), text)| {
            let rest = text.split(MARK).nth(1)?.trim_start();
            let end = rest
                .find(|c: char| !c.is_ascii_alphanumeric())
                .unwrap_or(rest.len());
            let code = &rest[..end];
            // Prose about the comment names no code.
            let is_code = code.len() == 6
                && code[..3].bytes().all(|b| b.is_ascii_uppercase())
                && code[3..].bytes().all(|b| b.is_ascii_digit());
            let why = match () {
                () if !is_code => return None,
                () if rule_info(code).is_none() => {
                    format!("`{MARK}{code}` names no rule: `warpsmith explain --list` has them all")
                }
                () if comment(text, code).is_none() => {
                    format!("`{MARK}{code}` gives no reason, so the finding stands")
                }
                () => return None,
            };
            Some((format!("{file}:{line}"), why))
        });
    said.collect()
}

fn comment(line: &str, code: &str) -> Option<String> {
    let rest = line.split(MARK).nth(1)?;
    let reason = rest
        .strip_prefix(code)?
        .trim()
        .trim_end_matches("*/")
        .trim();
    (!reason.is_empty()).then(|| reason.to_owned())
}
