//! What can be wrong with what a listener or a user asks for, and the findings that say so.

use thiserror::Error;
use warpsmith_core::{CodeDoc, Finding, Severity};

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
    #[error("`{given}` is no {what}; known: {known}")]
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

/// Explanations of the synthesiser's findings.
pub const CODES: &[CodeDoc] = &[
    CodeDoc {
        code: "Y001",
        title: "a music parameter is outside its range",
        explanation: "Every number of the music has a range: 40 to 120 for the tempo, 0 to 1 for \
            the rest. What is outside, infinite or not a number is refused before anything \
            changes, so a stream that plays goes on as it was.",
        fix: "Give a number inside the range that the message names.",
    },
    CodeDoc {
        code: "Y002",
        title: "a word names no key, mode or preset",
        explanation: "Keys are C to B with # or b; modes and presets are lists that the message \
            repeats. Case does not matter.",
        fix: "Use one of the words that the message lists.",
    },
    CodeDoc {
        code: "Y003",
        title: "no engine renders at this sample rate",
        explanation: "Envelopes are cubics over 64 samples. Below 8 kHz that is too long to be \
            exact, above 192 kHz nothing is gained.",
        fix: "Render at 44100 or 48000 Hz, or at whatever the sound card runs at.",
    },
    CodeDoc {
        code: "Y004",
        title: "a note cannot be played",
        explanation: "A note needs a finite pitch from 0 to 127, a velocity from 0 to 1 and at \
            least one sample. The message says which note and what is wrong with it.",
        fix: "Correct or drop that note.",
    },
    CodeDoc {
        code: "Y005",
        title: "the GPU failed and the CPU took over",
        explanation: "A launch or a copy failed while blocks were rendered. Dry samples depend on \
            notes and position alone, so the CPU renders the same block; the music goes on with \
            differences below −100 dB.",
        fix: "`warpsmith check` and the kernel log say why the GPU failed.",
    },
    CodeDoc {
        code: "Y006",
        title: "a technique changed the sound by more than it may",
        explanation: "Before a time is accepted, the output is compared with the same phrase in \
            double precision. Below the technique's bound on the signal-to-noise ratio, the row's \
            time is shown but not as a gain.",
        fix: "Do not use the technique for sound, or raise its bound with a reason.",
    },
];
