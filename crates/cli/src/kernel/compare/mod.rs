//! `warpsmith compare`: which of two is faster, and whether two baselines differ.

mod baselines;
mod cases;
mod command;
mod commands;
mod git_revision;
mod markdown;
mod pair;
mod parameters;

pub(crate) use command::Compare;
pub(crate) use commands::compare_lines;
