//! Samples of what runs on the CPU: closures on this thread, and commands.

pub mod closure;
pub mod command;
pub mod stamps;
pub mod steal;
pub mod thread_usage;
