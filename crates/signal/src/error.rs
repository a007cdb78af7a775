//! What can go wrong between a user's numbers and a result.

use std::path::PathBuf;

use warpsmith_core::{ArgumentError, Bytes};

/// How the reason begins why a file that is not damaged audio cannot be decoded.
pub(crate) const NOT_KNOWN: &str = "not a known audio file";

/// How the reason begins why audio in a coding without a decoder cannot be decoded.
pub(crate) const NO_DECODER: &str = "no decoder for this coding";

/// How the reason begins why a header is refused that says what cannot be.
pub(crate) const IMPOSSIBLE: &str = "the header says";

/// Why an analysis could not be done.
#[derive(Debug, thiserror::Error)]
pub enum SignalError {
    /// A parameter or a buffer that does not fit.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
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
    /// A result or a table that memory has no room for.
    #[error("{what} would take {needed} of memory, more than is available")]
    TooLarge {
        /// What it is.
        what: &'static str,
        /// Its size.
        needed: Bytes,
    },
    /// A file could not be opened or read.
    #[error("cannot read `{path}`")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file ends before its header says.
    #[error(
        "cannot decode `{path}` {place}: the header promises {declared} samples and the file ends after {found}"
    )]
    CutShort {
        /// The file.
        path: PathBuf,
        /// Where it ends.
        place: String,
        /// Samples of a channel that its header promises.
        declared: u64,
        /// Those that are there.
        found: u64,
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

impl SignalError {
    /// A parameter that cannot be used.
    pub fn parameter(name: &'static str, value: impl ToString, reason: impl Into<String>) -> Self {
        ArgumentError::parameter(name, value, reason).into()
    }

    /// Whether a file was audio and is damaged, so that some of it may still be read.
    pub fn is_of_damage(&self) -> bool {
        match self {
            Self::CutShort { .. } => true,
            Self::Decode { reason, .. } => {
                !self.is_of_unknown_kind() && !reason.starts_with(IMPOSSIBLE)
            }
            _ => false,
        }
    }

    /// Whether a file is not audio, or of a kind that is not decoded here.
    pub fn is_of_unknown_kind(&self) -> bool {
        match self {
            Self::Decode { reason, .. } => {
                reason.starts_with(NOT_KNOWN) || reason.starts_with(NO_DECODER)
            }
            _ => false,
        }
    }

    /// Checks that a caller's buffer has the planned size.
    pub fn expect_size(what: &'static str, found: usize, expected: usize) -> Result<()> {
        Ok(ArgumentError::expect_size(what, found, expected)?)
    }
}

/// The result of an analysis.
pub type Result<T, E = SignalError> = std::result::Result<T, E>;
