//! Findings as every view lists them: one line per code, with a count.

use std::collections::BTreeSet;

use warpsmith_core::{Finding, Severity};

use crate::digits;
use crate::document::{Block, Cell, Chapter, Column, Fold, Place, Row, State, Table};

/// `3 errors, 1 warning, 6 notes`.
pub(crate) fn counts(findings: &[Finding]) -> String {
    let count = |severity| findings.iter().filter(|f| f.severity == severity).count();
    let counted = |n: usize, word: &str| {
        let plural = if n == 1 { "" } else { "s" };
        format!("{} {word}{plural}", digits::count(n as u64))
    };
    format!(
        "{}, {}, {}",
        counted(count(Severity::Error), "error"),
        counted(count(Severity::Warning), "warning"),
        counted(count(Severity::Info), "note")
    )
}

/// The fold that lists what the chapter's tables do not, the worst first; absent where there is none.
pub(crate) fn findings_fold(chapter: &Chapter) -> Option<Fold> {
    let mut shown = BTreeSet::new();
    codes(&chapter.blocks, &mut shown);
    chapter
        .folds
        .iter()
        .for_each(|fold| codes(&fold.blocks, &mut shown));
    let left = chapter
        .findings
        .iter()
        .filter(|finding| !shown.contains(&*finding.code));
    let findings: Vec<Finding> = left.cloned().collect();
    let mut groups: Vec<(&Finding, usize)> = Vec::new();
    for finding in &findings {
        match groups
            .iter_mut()
            .find(|(first, _)| first.code == finding.code)
        {
            Some((_, count)) => *count += 1,
            None => groups.push((finding, 1)),
        }
    }
    if groups.is_empty() {
        return None;
    }
    // The sort is stable: within a severity the order is that of the chapter.
    groups.sort_by_key(|(finding, _)| std::cmp::Reverse(finding.severity));
    let rows = groups.iter().map(|(finding, count)| {
        let state = match finding.severity {
            Severity::Error => State::Act,
            Severity::Warning => State::Look,
            Severity::Info => State::NotMeasured,
        };
        let seen = finding
            .evidence
            .first()
            .map(|e| format!("{}: {}", e.source, e.seen));
        let place = finding.span.as_ref().map(ToString::to_string).or(seen);
        Row::new(vec![
            Cell::Judged {
                state,
                text: finding.message.clone(),
            },
            finding.hint.clone().map_or(Cell::Empty, Cell::Text),
            place.map_or(Cell::Empty, Cell::Muted),
            Cell::number(*count as f64, digits::count(*count as u64), ""),
            Cell::Code(finding.code.clone()),
        ])
    });
    let table = Table {
        name: "findings".to_owned(),
        rows: rows.collect(),
        columns: vec![
            Column::text("finding"),
            Column::text("how to fix it"),
            Column::text("first seen").from(Place::Wide),
            Column::number("places"),
            Column::text("rule"),
        ],
        ..Table::default()
    };
    Some(Fold {
        title: "Findings".to_owned(),
        note: counts(&findings),
        blocks: vec![Block::Table(table)],
    })
}

/// Codes of findings that tables among `blocks` have.
fn codes<'a>(blocks: &'a [Block], found: &mut BTreeSet<&'a str>) {
    for block in blocks {
        match block {
            Block::Table(table) => {
                let cells = table.rows.iter().flat_map(|row| &row.cells);
                found.extend(cells.filter_map(|cell| match cell {
                    Cell::Code(code) => Some(&**code),
                    _ => None,
                }));
            }
            Block::Columns(columns) => columns.iter().for_each(|(_, inner)| codes(inner, found)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chapter(findings: Vec<Finding>) -> Chapter {
        Chapter {
            id: "machine".to_owned(),
            short: String::new(),
            title: String::new(),
            light: State::Look,
            note: String::new(),
            answers: Default::default(),
            blocks: Vec::new(),
            folds: Vec::new(),
            findings,
        }
    }

    #[test]
    fn repeated_findings_are_one_line_with_a_count() {
        let mut chapter = chapter(vec![
            Finding::new("M001", Severity::Warning, "too few samples"),
            Finding::new("M001", Severity::Warning, "too few samples"),
            Finding::new("D013", Severity::Error, "a fault in the log"),
        ]);
        let fold = findings_fold(&chapter).expect("there are findings");
        assert_eq!(fold.note, "1 error, 2 warnings, 0 notes");
        let [Block::Table(table)] = &fold.blocks[..] else {
            panic!("a table")
        };
        assert_eq!(table.rows.len(), 2);
        assert_eq!(table.rows[0].cells[4], Cell::Code("D013".to_owned()));
        assert_eq!(table.rows[1].cells[3], Cell::number(2.0, "2", ""));
        // Once is enough: what the chapter shows itself is not listed again.
        chapter.folds = vec![fold];
        assert!(findings_fold(&chapter).is_none());
    }
}
