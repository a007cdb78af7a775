//! Findings as a table: repeated ones once, with a count, the gravest first.

use std::collections::BTreeMap;

use warpsmith_core::{Finding, Severity};

use crate::document::{Cell, Column, Place, Row, State, Table};

/// Findings with the same code.
pub(super) struct Group<'a> {
    pub(super) first: &'a Finding,
    pub(super) count: usize,
}

/// Findings at or above `least`, repeated codes once, the gravest and then the most frequent first.
pub(super) fn groups(findings: &[Finding], least: Severity) -> Vec<Group<'_>> {
    let mut groups: BTreeMap<&str, Group<'_>> = BTreeMap::new();
    for finding in findings.iter().filter(|finding| finding.severity >= least) {
        let group = groups.entry(&finding.code).or_insert(Group {
            first: finding,
            count: 0,
        });
        group.count += 1;
        if finding.severity > group.first.severity {
            group.first = finding;
        }
    }
    let mut groups: Vec<Group<'_>> = groups.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse((group.first.severity, group.count)));
    groups
}

pub(super) fn state(severity: Severity) -> State {
    match severity {
        Severity::Error => State::Act,
        Severity::Warning => State::Look,
        Severity::Info => State::NotMeasured,
    }
}

/// The groups as a table with what to do about each.
pub(super) fn table(name: &str, heading: &str, groups: &[Group<'_>]) -> Table {
    let columns = vec![
        Column::number("").from(Place::Medium),
        Column::text(heading),
        Column::text("how").from(Place::Medium),
        Column::text("rule"),
    ];
    let rows = groups.iter().enumerate().map(|(index, group)| {
        let finding = group.first;
        // Some messages count their places themselves.
        let message = match group.count {
            _ if finding.message.contains(" more place") => finding.message.clone(),
            1 => finding.message.clone(),
            count => format!("{} ×{count}", finding.message),
        };
        let words = match finding.severity {
            Severity::Info => Cell::Text(message),
            severity => Cell::Judged {
                state: state(severity),
                text: message,
            },
        };
        let hint = finding.hint.as_deref().map(first_clause);
        Row::new(vec![
            Cell::number((index + 1) as f64, (index + 1).to_string(), ""),
            words,
            hint.map_or(Cell::Empty, |hint| Cell::Muted(hint.to_owned())),
            Cell::Code(finding.code.clone()),
        ])
    });
    Table {
        name: name.to_owned(),
        columns,
        rows: rows.collect(),
        shown: 8,
        caption: String::new(),
    }
}

/// Of a long hint, what fits beside a finding.
fn first_clause(hint: &str) -> &str {
    const FITS: usize = 90;
    if hint.len() <= FITS {
        return hint;
    }
    match hint.find(['.', ';', '\n']) {
        Some(end) => hint[..end].trim(),
        None => hint,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_findings_are_one_line_with_a_count() {
        let of = |code: &str, severity| Finding::new(code, severity, format!("{code} is odd"));
        let findings = [
            of("A", Severity::Warning),
            of("B", Severity::Error),
            of("A", Severity::Warning),
            of("C", Severity::Info),
        ];
        let groups = groups(&findings, Severity::Warning);
        let seen: Vec<(&str, usize)> = groups
            .iter()
            .map(|group| (group.first.code.as_str(), group.count))
            .collect();
        assert_eq!(seen, [("B", 1), ("A", 2)]);
        let table = table("x", "what", &groups);
        let Cell::Judged { text, .. } = &table.rows[1].cells[1] else {
            panic!("not judged");
        };
        assert_eq!(text, "A is odd ×2");
    }
}
