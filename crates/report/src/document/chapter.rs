//! A chapter: a question, its answer in three lines, a picture, a table, and what is folded away.

use serde::{Deserialize, Serialize};
use warpsmith_core::Finding;

use super::{Block, Fold, State};

/// A question and everything that answers it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chapter {
    /// Anchor: `ship`, `machine`, `data`, `rest`, `fast`, `changes`.
    pub id: String,
    /// The word in the bar of chapters.
    pub short: String,
    /// The question.
    pub title: String,
    /// How it was judged.
    pub light: State,
    /// One clause beside the light on the first screen.
    pub note: String,
    /// The answer, the number that supports it, the exception or action.
    pub answers: [String; 3],
    /// What is always open.
    pub blocks: Vec<Block>,
    /// What is folded away.
    pub folds: Vec<Fold>,
    /// What follows from it.
    pub findings: Vec<Finding>,
}

/// A part of the run: what ran, for how long and how it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SectionRun {
    /// Its key below the raw numbers.
    pub id: String,
    /// What it is called in progress lines.
    pub title: String,
    /// How it ended.
    pub status: Status,
    /// How long it took.
    pub seconds: f64,
    /// How long it was allowed to take.
    pub budget_seconds: f64,
}

/// How a part of the run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It has run.
    Done,
    /// This machine cannot; says what is missing.
    Skipped(String),
    /// It went wrong; says how.
    Failed(String),
    /// The run was stopped before or within it.
    Interrupted,
}
