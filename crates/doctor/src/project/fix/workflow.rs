//! Fixing workflows.

use std::cmp::Reverse;

use warpsmith_core::Finding;

use super::edits::Edits;
use super::{Fixer, place};
use crate::project::facts::ProjectFacts;
use warpsmith_compatibility::lifecycle;

pub(super) const FIXERS: &[(&str, Fixer)] = &[
    ("CIA003", pin_actions),
    ("CIA004", pin_actions),
    ("CIA005", permissions),
    ("CIA007", security_events),
    ("CIA012", current_versions),
];

/// Pins that the project gives in `.warpsmith.toml`: a commit is not something to guess.
///
/// ```toml
/// [audit.pins]
/// "actions/checkout" = "11bd71901bbe5b1630ceea73d27597364c9af683 # v4.2.2"
/// ```
fn pin_actions(_: &Finding, facts: &ProjectFacts, edits: &mut Edits<'_>) {
    let pins = facts.action_pins();
    for workflow in &facts.workflows {
        for entry in workflow.outline.keyed("uses") {
            let Some((action, reference)) = entry.value.split_once('@') else {
                continue;
            };
            let Some(pin) = pins.get(action) else {
                continue;
            };
            let old = format!("{action}@{reference}");
            edits.change(&workflow.path, entry.line, |l| match l.find(&old) {
                // What stands behind it is the comment of the old reference.
                Some(at) => format!("{}{action}@{pin}", &l[..at]),
                None => l.to_owned(),
            });
        }
    }
}

fn permissions(finding: &Finding, _: &ProjectFacts, edits: &mut Edits<'_>) {
    if let Some((file, _)) = place(finding)
        && let Some(jobs) = edits.find(file, 1, |l| l.starts_with("jobs:"))
        && edits
            .find(file, 1, |l| l.starts_with("permissions:"))
            .is_none()
    {
        edits.insert_before(file, jobs, "permissions:\n  contents: read");
    }
}

fn security_events(finding: &Finding, _: &ProjectFacts, edits: &mut Edits<'_>) {
    let Some((file, _)) = place(finding) else {
        return;
    };
    if edits.contains(file, "security-events: write") {
        return;
    }
    // Inside the block that is there, at its indent; otherwise a block of its own.
    match edits.find(file, 1, |l| l.trim() == "permissions:") {
        Some(line) => {
            let indent = edits
                .line(file, line)
                .map_or(0, |l| l.len() - l.trim_start().len())
                + 2;
            edits.insert_before(
                file,
                line + 1,
                &format!("{}security-events: write", " ".repeat(indent)),
            );
        }
        None => {
            if let Some(jobs) = edits.find(file, 1, |l| l.starts_with("jobs:")) {
                edits.insert_before(
                    file,
                    jobs,
                    "permissions:\n  contents: read\n  security-events: write",
                );
            }
        }
    }
}

fn current_versions(finding: &Finding, _: &ProjectFacts, edits: &mut Edits<'_>) {
    let Some((file, line)) = place(finding) else {
        return;
    };
    edits.change(file, line, current_line);
}

/// Replaces a runner's whole label: `ubuntu-20.04-large` is a machine of somebody's own.
fn replace_label(line: &str, old: &str, new: &str) -> String {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    let mut text = String::with_capacity(line.len());
    let mut from = 0;
    for (at, _) in line.match_indices(old) {
        let behind = &line[at + old.len()..];
        if !line[..at].ends_with(part) && !behind.starts_with(part) {
            text += &line[from..at];
            text += new;
            from = at + old.len();
        }
    }
    text + &line[from..]
}

fn current_line(line: &str) -> String {
    let mut text = line.to_owned();
    for (old, new) in [
        ("ubuntu-18.04", "ubuntu-24.04"),
        ("ubuntu-20.04", "ubuntu-24.04"),
        ("macos-12", "macos-15"),
        ("windows-2019", "windows-2022"),
    ] {
        text = replace_label(&text, old, new);
    }
    let Some(new) = lifecycle().oldest_python() else {
        return text;
    };
    let ended = lifecycle().python.iter().filter(|row| !row.in_support);
    let mut ended: Vec<&str> = ended.map(|row| row.version.as_str()).collect();
    ended.sort_by_key(|version| Reverse(minor(version)));
    for old in ended {
        for quote in ["'", "\"", ""] {
            let entry = format!("{quote}{old}{quote}");
            // The newest that ended becomes the oldest that has not: a list keeps its lower bound.
            let marked = if quote.is_empty() { "'" } else { quote };
            let next = format!("{marked}{new}{marked}");
            if !has_version(&text, new) {
                text = text
                    .replace(&format!("[{entry}, "), &format!("[{next}, "))
                    .replace(&format!(", {entry},"), &format!(", {next},"))
                    .replace(&format!(", {entry}]"), &format!(", {next}]"));
            }
            text = text
                .replace(&format!("[{entry}, "), "[")
                .replace(&format!(", {entry},"), ",")
                .replace(&format!(", {entry}]"), "]");
            // A single value; quoted always, because 3.10 without quotes is the number 3.1.
            let quote = if quote.is_empty() { "'" } else { quote };
            for before in [": ", "- ", "["] {
                for after in ["", "]"] {
                    if let Some(rest) = text.strip_suffix(&format!("{before}{entry}{after}")) {
                        text = format!("{rest}{before}{quote}{new}{quote}{after}");
                    }
                }
            }
        }
    }
    text
}

/// The number behind the point of `3.10`.
fn minor(version: &str) -> u32 {
    let minor = version.split_once('.').map_or("", |(_, minor)| minor);
    minor.parse().unwrap_or(0)
}

/// Whether a version stands in a line, not as a part of another.
fn has_version(line: &str, version: &str) -> bool {
    line.match_indices(version).any(|(at, _)| {
        let around = [
            line[..at].chars().next_back(),
            line[at + version.len()..].chars().next(),
        ];
        !around
            .iter()
            .flatten()
            .any(|c| c.is_ascii_digit() || *c == '.')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_quoted_and_one_that_gets_fixes() {
        assert_eq!(
            current_line("  python-version: 3.8"),
            "  python-version: '3.11'"
        );
        assert_eq!(
            current_line("  python-version: \"3.10\""),
            "  python-version: \"3.11\""
        );
        assert_eq!(
            current_line("  python: ['3.8', '3.12']"),
            "  python: ['3.11', '3.12']"
        );
        assert_eq!(
            current_line("  python: [\"3.9\", \"3.10\", \"3.14\"]"),
            "  python: [\"3.11\", \"3.14\"]"
        );
        assert_eq!(
            current_line("  python: ['3.12', '3.11', '3.10']"),
            "  python: ['3.12', '3.11']"
        );
        assert_eq!(current_line("  python: [3.7]"), "  python: ['3.11']");
        assert_eq!(
            current_line("  os: [ubuntu-20.04, ubuntu-20.04-l]"),
            "  os: [ubuntu-24.04, ubuntu-20.04-l]"
        );
        assert_eq!(
            current_line("  python-version: 3.12"),
            "  python-version: 3.12"
        );
    }
}
