//! What can be wrong with a choice or with wisdom.

use std::path::PathBuf;

use thiserror::Error;
use warpsmith_workload::WorkloadError;

/// Why there is no choice, or no wisdom.
#[derive(Debug, Error)]
pub enum ChooserError {
    /// No candidate satisfies the constraints.
    #[error("nothing here can do it: {reasons}")]
    NoCandidate {
        /// Each candidate with why it was refused.
        reasons: String,
    },
    /// Numbers that are not measurements.
    #[error("{what}: {problem}")]
    Number {
        /// Which number.
        what: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A file that cannot be read or written.
    #[error("cannot {attempted} `{}`", path.display())]
    File {
        /// What was attempted.
        attempted: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A file that is no wisdom.
    #[error("`{}` is not a wisdom file: {problem}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A workload that could not be measured.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
}
