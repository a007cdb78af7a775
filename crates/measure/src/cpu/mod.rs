//! Samples of closures on this thread.

pub mod closure;
pub mod machine_probe;
pub mod stamps;
pub mod steal;
pub mod thread_usage;
