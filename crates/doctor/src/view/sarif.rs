//! `audit` as SARIF 2.1.0, for code scanning. Accepted findings are carried with their reason, and
//! findings that a patch fixes with the patch.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use warpsmith_core::{Certainty, Finding, Report, Severity};

use super::patch_text::{Replacement, replacements};
use crate::catalog::rule_info;
use crate::project::{AuditBody, Patch, is_safe};

/// A file's patch as replacements: compared once for all findings of the file.
type FileFixes<'p> = BTreeMap<&'p str, (&'p Patch, Vec<Replacement>)>;

/// The report as a SARIF log; `patches` are the fixes to carry along.
pub fn audit_sarif(report: &Report<AuditBody>, patches: &[Patch]) -> Value {
    let fixes: FileFixes<'_> = patches
        .iter()
        .map(|patch| (patch.file.as_str(), (patch, replacements(patch))))
        .collect();
    let mut codes: Vec<&str> = report
        .findings
        .iter()
        .chain(report.body.suppressed.iter().map(|s| &s.finding))
        .map(|f| f.code.as_str())
        .collect();
    codes.sort_unstable();
    codes.dedup();
    let rules: Vec<Value> = codes
        .iter()
        .filter_map(|code| rule_info(code))
        .filter_map(|info| Some((info, info.story()?)))
        .map(|(info, story)| {
            json!({
                "id": info.code,
                "shortDescription": { "text": story.title },
                "fullDescription": { "text": format!("{} {}", story.means, story.why) },
                "help": { "text": story.fix },
                "helpUri": story.source,
                "defaultConfiguration": { "level": level(info.severity) },
                "properties": { "tags": [info.area.title()] },
            })
        })
        .collect();
    let index = |code: &str| codes.iter().position(|c| *c == code).unwrap_or(0);
    let mut results: Vec<Value> = report
        .findings
        .iter()
        .map(|f| {
            let mut value = result(f, index(&f.code));
            if let Some(fix) = fix(f, &fixes) {
                value["fixes"] = json!([fix]);
            }
            value
        })
        .collect();
    for accepted in &report.body.suppressed {
        let mut value = result(&accepted.finding, index(&accepted.finding.code));
        value["suppressions"] = json!([{ "kind": "inSource", "justification": accepted.reason }]);
        results.push(value);
    }
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "warpsmith",
                "version": report.version,
                "informationUri": "https://github.com/warpsmith/warpsmith",
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

/// The part of a file's patch that is about a finding: what changes beside its line, and headers and
/// modules that this needs.
fn fix(finding: &Finding, fixes: &FileFixes<'_>) -> Option<Value> {
    const NEAR: usize = 3;
    let span = finding.span.as_ref()?;
    let (patch, all) = fixes.get(span.file.as_str())?;
    if !patch.codes.contains(&finding.code) {
        return None;
    }
    let line = span.line.max(1) as usize;
    let near = |r: &&Replacement| r.line <= line + NEAR && line <= r.line + r.removed + NEAR;
    if !all.iter().any(|r| near(&r)) {
        return None;
    }
    let imports = |r: &&Replacement| {
        let is_import = |l: &str| l.starts_with("#include ") || l.starts_with("import ");
        r.removed == 0 && r.text.lines().all(is_import)
    };
    let list: Vec<Value> = all
        .iter()
        .filter(|r| near(r) || imports(r))
        .map(|r| {
            json!({
                "deletedRegion": {
                    "startLine": r.line, "startColumn": 1,
                    "endLine": r.line + r.removed, "endColumn": 1,
                },
                "insertedContent": { "text": r.text },
            })
        })
        .collect();
    let kind = if is_safe(&finding.code) {
        "safe"
    } else {
        "suggested: read it first"
    };
    Some(json!({
        "description": { "text": format!("fix of {} ({kind})", finding.code) },
        "artifactChanges": [{
            "artifactLocation": { "uri": uri(&span.file), "uriBaseId": "%SRCROOT%" },
            "replacements": list,
        }],
    }))
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn result(finding: &Finding, index: usize) -> Value {
    let text = match &finding.hint {
        Some(hint) => format!("{}\n{hint}", finding.message),
        None => finding.message.clone(),
    };
    // A finding about the project as a whole stands at its first line: viewers need a place.
    let (file, line) = finding
        .span
        .as_ref()
        .map_or(("README.md", 1), |s| (s.file.as_str(), s.line.max(1)));
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for byte in format!("{} {file} {}", finding.code, finding.message).bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    json!({
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": level(finding.severity),
        "message": { "text": text },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": uri(file), "uriBaseId": "%SRCROOT%" },
            "region": { "startLine": line },
        }}],
        "rank": finding.confidence.as_ref().map_or(50.0, |c| rank(c.certainty)),
        "partialFingerprints": { "primaryLocationLineHash": format!("{hash:016x}") },
    })
}

/// SARIF's rank: how likely a result is to matter, of 100.
fn rank(certainty: Certainty) -> f64 {
    match certainty {
        Certainty::Certain => 95.0,
        Certainty::Likely => 70.0,
        Certainty::Hint => 20.0,
    }
}

/// A relative path as a URI: what is not allowed in one is written in hexadecimal.
fn uri(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
