//! The report as data: what a machine is, how well it is, and what to do about it.

mod action;
mod block;
mod chapter;
mod figure;
mod headline;
mod state;
mod subject;
mod table;
mod verdict;

use serde::{Deserialize, Serialize};

pub use action::{Action, ActionClass};
pub use block::{Block, Fold, Sound, Tag};
pub use chapter::{Chapter, SectionRun, Status};
pub use figure::{
    AtRest, AtRestPanel, Crossover, CrossoverLine, Figure, Ladder, LadderRow, LawPlot, Roof,
    RoofPoint, Roofline,
};
pub use headline::{Headline, Reading};
pub use state::State;
pub use subject::{Commit, Fitness, RunKind, Subject};
pub use table::{Cell, Column, Detail, Place, Row, Strip, StripScale, Table};
pub use verdict::{Verdict, VerdictState};

/// Version of the document; raised when a reader of the old one would misread the new one.
pub const DOCUMENT_SCHEMA: u32 = 2;

/// The whole report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// [`DOCUMENT_SCHEMA`] of the writer.
    pub document: u32,
    /// Which machine, when, from which sources.
    pub subject: Subject,
    /// How quiet the machine was while it was measured.
    pub fitness: Fitness,
    /// Is it well?
    pub verdict: Verdict,
    /// The five numbers that describe this machine.
    pub numbers: Vec<Headline>,
    /// What to do next, the most useful first; at most seven.
    pub actions: Vec<Action>,
    /// How many more there are in the chapters.
    pub more_actions: usize,
    /// One chapter per question; `changes` comes first where two reports are compared.
    pub chapters: Vec<Chapter>,
    /// How the numbers were made, one paragraph each.
    pub method: Vec<String>,
    /// What was not measured, and why, one line each.
    pub left_out: Vec<String>,
    /// What ran, how long it took and how it ended.
    pub sections: Vec<SectionRun>,
    /// The raw numbers behind the chapters, by section.
    pub raw: serde_json::Value,
}
