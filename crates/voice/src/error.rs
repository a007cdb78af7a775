//! What can go wrong between a user's numbers and a result.

use std::path::PathBuf;

/// Why an analysis could not be done.
#[derive(Debug, thiserror::Error)]
pub enum VoiceError {
    /// A parameter, or a combination of parameters, has no meaning.
    #[error("{name} = {value} cannot be used: {reason}")]
    Parameter {
        /// The parameter as the documentation spells it.
        name: &'static str,
        /// What it was.
        value: String,
        /// Why not, with the numbers that would do.
        reason: String,
    },
    /// A caller's buffer does not have the size that the plan asks for.
    #[error("{what} holds {found} values, expected {expected}")]
    BufferSize {
        /// Which buffer.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length that fits.
        expected: usize,
    },
    /// A sample is not a number or is infinite.
    #[error(
        "sample {index} is {value}; clean the signal first or ask for bad samples to be zeroed"
    )]
    BadSample {
        /// The first such sample.
        index: usize,
        /// What it is.
        value: f32,
    },
    /// A file could not be opened or read.
    #[error("cannot read `{path}`")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is not audio that can be decoded.
    #[error("cannot decode `{path}` {place}: {reason}")]
    Decode {
        /// The file.
        path: PathBuf,
        /// How far decoding got.
        place: String,
        /// What was seen.
        reason: String,
    },
}

impl VoiceError {
    /// A parameter that cannot be used.
    pub(crate) fn parameter(
        name: &'static str,
        value: impl ToString,
        reason: impl Into<String>,
    ) -> Self {
        Self::Parameter {
            name,
            value: value.to_string(),
            reason: reason.into(),
        }
    }

    /// Checks that a caller's buffer has the planned size.
    pub(crate) fn expect_size(
        what: &'static str,
        found: usize,
        expected: usize,
    ) -> Result<(), Self> {
        if found == expected {
            Ok(())
        } else {
            Err(Self::BufferSize {
                what,
                found,
                expected,
            })
        }
    }
}

/// The result of an analysis.
pub type Result<T, E = VoiceError> = std::result::Result<T, E>;
