//! Fuzz targets: one function per parser of bytes that come from elsewhere.
//!
//! `cargo xtask fuzz` runs them on stable with [`mutation`]; `fuzz/libfuzzer` wraps the same functions for
//! cargo-fuzz. A target returns for every input: a panic, an abort, a hang or too much memory is a defect
//! of the parser.

pub mod mutation;
pub mod scratch;
mod targets;

pub use targets::{TARGETS, Target, run, target};
