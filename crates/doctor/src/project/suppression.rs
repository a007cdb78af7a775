//! Findings that the project accepts, with its reason.
//!
//! `# warpsmith: allow DKR001 runs rootless` on the line or the line above, or a table
//! `[audit.allow]` in `.warpsmith.toml`: `DKR001 = "runs rootless"`. A suppression without a reason
//! is not one.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use warpsmith_core::Finding;

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

pub(super) fn split(root: &Path, findings: Vec<Finding>) -> (Vec<Finding>, Vec<Suppressed>) {
    let allowed = configured(root);
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut kept = Vec::new();
    let mut suppressed = Vec::new();
    for finding in findings {
        if let Some(reason) = allowed.get(&finding.code) {
            suppressed.push(Suppressed {
                reason: reason.clone(),
                source: ".warpsmith.toml".to_owned(),
                finding,
            });
            continue;
        }
        let by_comment = finding.span.as_ref().and_then(|span| {
            let lines = texts.entry(span.file.clone()).or_insert_with(|| {
                super::walk::read(root, &span.file)
                    .filter(|text| text.contains("warpsmith: allow"))
                    .map(|text| text.lines().map(str::to_owned).collect())
                    .unwrap_or_default()
            });
            let line = span.line as usize;
            [line, line.saturating_sub(1)]
                .into_iter()
                .filter(|n| *n > 0)
                .find_map(|n| {
                    Some((
                        comment(lines.get(n - 1)?, &finding.code)?,
                        format!("{}:{n}", span.file),
                    ))
                })
        });
        match by_comment {
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

fn comment(line: &str, code: &str) -> Option<String> {
    let rest = line.split("warpsmith: allow ").nth(1)?;
    let reason = rest
        .strip_prefix(code)?
        .trim()
        .trim_end_matches("*/")
        .trim();
    (!reason.is_empty()).then(|| reason.to_owned())
}

fn configured(root: &Path) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(root.join(".warpsmith.toml")).unwrap_or_default();
    let table: toml::Table = toml::from_str(&text).unwrap_or_default();
    table
        .get("audit")
        .and_then(|a| a.get("allow"))
        .and_then(toml::Value::as_table)
        .map(|allow| {
            allow
                .iter()
                .filter_map(|(code, reason)| Some((code.clone(), reason.as_str()?.to_owned())))
                .filter(|(_, reason)| !reason.trim().is_empty())
                .collect()
        })
        .unwrap_or_default()
}
