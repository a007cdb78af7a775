//! Commands as targets: started, timed by two clocks, ended with all that they started, and run
//! against each other.

pub mod contest;
pub mod peak_memory;
pub mod precedence;
pub mod samples;
mod scheduling;
pub mod size_study;
mod spawn;
mod target;
mod tree_account;
pub mod words;

pub use target::{CommandError, CommandRun, CommandTarget};
