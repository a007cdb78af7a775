//! `warpsmith compile`: Python and CUDA sources, as text and as machine code.

mod command;
mod cuda;
mod machine_code;
mod project;
mod python;
mod texts;

pub(crate) use command::Compile;
