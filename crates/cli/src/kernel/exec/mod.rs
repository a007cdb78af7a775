//! `warpsmith exec`: one kernel of a file, run once over arguments from the command line.

mod argument;
mod command;
mod numpy_type;
mod placement;

pub(crate) use command::Exec;
