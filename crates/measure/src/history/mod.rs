//! Results over commits: stored with their raw samples per machine, watched by two detectors.

pub mod detectors;
pub mod samples_blob;
pub mod store;
