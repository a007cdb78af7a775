//! What to do next.

use serde::{Deserialize, Serialize};

/// Something to do, with what it gains, what it costs and the command that does it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Action {
    /// Decides the order before the value does.
    pub class: ActionClass,
    /// Order within the class, larger first.
    pub value: f64,
    /// What to do, as a sentence without its full stop.
    pub what: String,
    /// Why, in a clause.
    pub why: String,
    /// The command that does it or shows more.
    pub command: String,
    /// What it gains: `2.95×`, `can ship`.
    pub gain: String,
    /// What the gain is over, or its interval.
    pub gain_note: String,
    /// What it costs: `minutes`, `low effort and risk`.
    pub cost: String,
    /// Chapter that has the evidence.
    pub chapter: String,
}

/// Kinds of actions, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ActionClass {
    /// Results may be wrong, a GPU is lost, the machine is unfit.
    Correctness,
    /// Errors of the audit.
    Project,
    /// A measured gain.
    Speed,
    /// Warnings, missing tools, questions without an answer.
    Upkeep,
}
