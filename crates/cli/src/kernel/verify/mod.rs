//! `warpsmith verify`: whether the GPU computes what the CPU does.

pub(crate) mod case;
mod command;
mod native;
mod one_off;
mod python;
mod sanitizer;
mod vulkan;

pub(crate) use command::Verify;
