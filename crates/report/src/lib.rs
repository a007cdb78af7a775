//! The report as data, and its views.
//!
//! A [`Document`] holds every word, number and picture of a report. The page, the Markdown text and
//! the terminal lines are views of it, so that they cannot differ. Facts come from whoever measures;
//! nothing here reads the machine.

pub mod calendar;
pub mod chapters;
mod compose;
pub mod digits;
pub mod document;
pub mod facts;
mod findings;
pub mod judge;
pub mod markdown;
pub mod page;
mod sections;
pub mod terminal;

pub use compose::compose;
pub use document::Document;
pub use facts::Facts;
