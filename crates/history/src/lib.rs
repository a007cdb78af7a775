//! Results over commits: stored with their raw samples per machine, watched by two detectors; and
//! Nsight Systems' exports. Both are SQLite files, and this is the only crate that opens any.

pub mod bisect;
pub mod detectors;
pub mod gate;
pub mod nsys;
pub mod samples_blob;
pub mod selftest;
pub mod store;
