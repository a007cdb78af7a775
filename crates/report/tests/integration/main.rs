//! The views of a report: what they say, and what they must never say.

#[path = "../fixtures/mod.rs"]
mod fixtures;
mod words;
