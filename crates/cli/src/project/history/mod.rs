//! `warpsmith history`: results over commits, a gate on them, and the search for a commit.

mod bisect;
mod command;
mod confirm;
mod git;
mod series;

pub(crate) use command::HistoryCommand;
