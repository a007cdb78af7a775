//! `warpsmith verify`: whether the GPU computes what the CPU does.

mod command;
mod python;

pub(crate) use command::Verify;
