//! `warpsmith judge`: candidates that somebody else wrote, each with a verdict.

mod command;
mod counters;
mod kernel_worker;
mod session;
mod summary;
mod verdict_file;

pub(crate) use command::Judge;
