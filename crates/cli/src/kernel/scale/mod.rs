//! `warpsmith scale`: how time and memory grow with size.

mod body;
mod command;

pub(crate) use command::Scale;
