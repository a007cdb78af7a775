//! The parts of a run as every view lists them.

use crate::digits;
use crate::document::{Block, Cell, Column, Document, Fold, Row, SectionRun, State, Status, Table};

/// What ran, how long it took and how it ended.
pub(crate) fn sections_fold(document: &Document) -> Fold {
    let subject = &document.subject;
    Fold {
        title: "What ran".to_owned(),
        note: format!(
            "{} parts, {} of {}",
            document.sections.len(),
            digits::duration(subject.seconds),
            digits::duration(subject.allowed_seconds)
        ),
        blocks: vec![Block::Table(Table {
            name: "sections".to_owned(),
            columns: vec![
                Column::text("part"),
                Column::number("took"),
                Column::number("allowed"),
                Column::text("ended"),
            ],
            rows: document.sections.iter().map(section).collect(),
            ..Table::default()
        })],
    }
}

fn section(run: &SectionRun) -> Row {
    let (state, words) = match &run.status {
        Status::Done => (State::Good, "done".to_owned()),
        Status::Skipped(why) => (State::NotMeasured, format!("skipped: {why}")),
        Status::Failed(why) => (State::Act, format!("failed: {why}")),
        Status::Interrupted => (State::Look, "interrupted".to_owned()),
    };
    let time = |seconds: f64| Cell::number(seconds, digits::duration(seconds), "");
    Row::new(vec![
        Cell::text(&*run.title),
        time(run.seconds),
        time(run.budget_seconds),
        Cell::Judged { state, text: words },
    ])
}
