//! `warpsmith verify`: whether the GPU computes what the CPU does, and the CPU what its definition says.

pub(crate) mod case;
mod command;
mod cuda;
mod jobs;
mod native;
mod one_off;
mod rows;
mod sanitizer;
mod vulkan;
mod workloads;

pub(crate) use command::Verify;
