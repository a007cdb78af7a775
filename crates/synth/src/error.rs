//! What can be wrong with what a listener or a user asks for, and the findings that say so.

use thiserror::Error;
use warpsmith_core::{Family, Finding, Severity};

/// A parameter that cannot be used.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ParamError {
    /// A number outside its range, or not a number.
    #[error("`{name}` is {value}, outside {least} to {most}")]
    OutOfRange {
        /// The parameter.
        name: &'static str,
        /// What was given.
        value: f32,
        /// Least value.
        least: f32,
        /// Greatest value.
        most: f32,
    },
    /// A word that is none of the known ones.
    #[error("`{given}` is not a {what}; known: {known}")]
    Unknown {
        /// What kind of word.
        what: &'static str,
        /// What was given.
        given: String,
        /// The known ones.
        known: String,
    },
    /// A sample rate that no engine renders.
    #[error("a sample rate of {given} Hz, outside 8000 to 192000")]
    SampleRate {
        /// What was given.
        given: u32,
    },
    /// A scale of the user's own that is none.
    #[error("the scale: {problem}")]
    Scale {
        /// What is wrong.
        problem: String,
    },
    /// A preset's file that cannot be used.
    #[error("{place}: {problem}")]
    File {
        /// The file, and the line where it is one line's fault.
        place: String,
        /// What is wrong.
        problem: String,
    },
    /// Notes that no engine can play.
    #[error("note {index}: {problem}")]
    Note {
        /// Which.
        index: usize,
        /// What is wrong.
        problem: String,
    },
}

impl ParamError {
    pub(crate) fn unknown(what: &'static str, given: &str, known: &[&str]) -> Self {
        // What a client sends is shown back to it, but not at any length.
        let given = given.chars().take(40).collect();
        Self::Unknown {
            what,
            given,
            known: known.join(", "),
        }
    }

    /// The code of its finding.
    pub fn code(&self) -> &'static str {
        match self {
            Self::OutOfRange { .. } => "Y001",
            Self::Unknown { .. } => "Y002",
            Self::SampleRate { .. } => "Y003",
            Self::Note { .. } => "Y004",
            Self::Scale { .. } => "Y007",
            Self::File { .. } => "Y008",
        }
    }

    /// The same as a finding.
    pub fn finding(&self) -> Finding {
        let finding = Finding::new(self.code(), Severity::Error, self.to_string());
        match self {
            Self::OutOfRange { least, most, .. } => {
                finding.hint(format!("give a number from {least} to {most}"))
            }
            Self::Unknown { known, .. } => finding.hint(format!("one of {known}")),
            Self::SampleRate { .. } => finding.hint("44100 and 48000 are usual"),
            Self::Note { .. } => finding,
            Self::File { .. } => {
                finding.hint("`warpsmith synth render --save-preset FILE` writes one to start from")
            }
            Self::Scale { .. } => finding
                .hint("give degrees in cents that rise from 0, e.g. `0,204,386,498,702,884,1088`"),
        }
    }
}

/// What was seen while rendering, as a finding: the GPU was given up for the CPU.
pub fn gpu_lost(reason: &str) -> Finding {
    Finding::new(
        "Y005",
        Severity::Warning,
        "the GPU failed; streams go on on the CPU",
    )
    .because("device", reason)
    .hint("`warpsmith check` looks for the cause")
}

/// What each code of the synthesiser means.
pub static FAMILY: Family = Family::new(include_str!("stories/Y.md"));
