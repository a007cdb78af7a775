//! `warpsmith report`, the main job: everything that Warpsmith can say about this machine, as one document.
//!
//! A section is data (blocks of text, tables and raw numbers); the HTML page, the Markdown text and
//! the JSON file are views of the same blocks. A section that fails says why, and the rest goes on.

mod command;
mod comparison;
mod document;
mod html;
mod job;
mod markdown;
mod parts;
mod progress;
mod section;

pub(crate) use command::Report;
