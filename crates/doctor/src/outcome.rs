//! What a rule's verdict amounts to in a report.

use serde::{Deserialize, Serialize};
use warpsmith_core::Severity;

/// The outcome of a rule. `Unknown` (could not look) and `NotApplicable` (nothing to look at) are
/// different things, and neither is a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // The names say it.
pub enum Outcome {
    Pass,
    Fail,
    Warn,
    Info,
    Unknown,
    NotApplicable,
}

impl Outcome {
    /// The outcome of a rule that found something.
    pub fn of(severity: Severity) -> Self {
        match severity {
            Severity::Error => Self::Fail,
            Severity::Warning => Self::Warn,
            Severity::Info => Self::Info,
        }
    }

    /// One character for a terminal.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Pass => "✓",
            Self::Fail => "✗",
            Self::Warn => "!",
            Self::Info => "i",
            Self::Unknown => "?",
            Self::NotApplicable => "-",
        }
    }
}
