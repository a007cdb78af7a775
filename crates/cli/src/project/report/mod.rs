//! `warpsmith report`, the main job: what this machine is, how well it is and what to do, as one page.
//!
//! Sections measure within a wall budget and fill in facts; the `report` crate judges them and writes
//! the views. A section that fails says why, and the rest goes on.

mod collect;
mod command;
mod job;
mod progress;
mod sections;

pub(crate) use command::Report;
