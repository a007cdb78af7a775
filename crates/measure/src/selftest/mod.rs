//! Comparisons tried on this machine: identical pairs, and pairs of which one does a known share
//! more work. What comes out are the error rates that a user of this machine gets.

pub mod closures;
pub mod commands;
mod counts;
pub mod stored;

pub use counts::{VerdictCounts, upper_bound};
