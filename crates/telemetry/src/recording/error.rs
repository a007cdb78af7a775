//! What can be wrong with a recording.

use std::io;
use std::path::PathBuf;

/// Why a recording cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file system refused.
    #[error("cannot {doing} `{path}`")]
    File {
        /// What was attempted.
        doing: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Some other kind of file.
    #[error("`{path}` is not a recording (hint: `warpsmith record FILE` makes one)")]
    NotARecording {
        /// The file.
        path: PathBuf,
    },
    /// Written by a later Warpsmith.
    #[error(
        "`{path}` has recording format {found}, this program reads up to {supported} \
         (hint: a newer warpsmith reads it)"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format version.
        found: u16,
        /// The newest that can be read here.
        supported: u16,
    },
    /// Bytes that cannot have been written so.
    #[error("`{path}` is damaged at byte {offset}: {what}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
}
