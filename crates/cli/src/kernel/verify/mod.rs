//! `warpsmith verify`: whether the GPU computes what the CPU does.

pub(crate) mod case;
mod command;
mod cuda;
mod jobs;
mod native;
mod one_off;
mod rows;
mod sanitizer;
mod vulkan;

pub(crate) use command::Verify;
