//! The chapters: one per question, each from the facts that answer it.

pub mod changes;
mod data;
mod environment_blocks;
mod fast;
mod findings_table;
pub(crate) mod gains;
mod latency_table;
mod machine;
mod rest;
mod ship;

use crate::document::{Chapter, State};
use crate::facts::Facts;

/// Every chapter, in the order of the page.
pub fn all(facts: &Facts) -> Vec<Chapter> {
    vec![
        ship::chapter(facts),
        machine::chapter(facts),
        data::chapter(facts),
        rest::chapter(facts),
        fast::chapter(facts),
    ]
}

/// A chapter without content.
fn empty(id: &str, short: &str, title: &str) -> Chapter {
    Chapter {
        id: id.to_owned(),
        short: short.to_owned(),
        title: title.to_owned(),
        light: State::NotMeasured,
        note: String::new(),
        answers: Default::default(),
        blocks: Vec::new(),
        folds: Vec::new(),
        findings: Vec::new(),
    }
}

/// `1 error`, `3 errors`.
fn counted(count: usize, one: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {one}{plural}", crate::digits::count(count as u64))
}
