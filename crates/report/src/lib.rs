//! The report as data, and its views.
//!
//! A [`Document`] holds every word, number and picture of a report. The page, the Markdown text and
//! the terminal lines are views of it, so that they cannot differ. What measures and what judges is
//! elsewhere; nothing here reads the machine.

pub mod chapters;
mod compose;
pub mod digits;
pub mod document;
pub mod facts;
pub mod judge;

pub use compose::compose;
pub use document::Document;
pub use facts::Facts;
