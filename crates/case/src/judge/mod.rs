//! Judges candidates that strangers or machines wrote: right, wrong, cheating, and how fast.
//!
//! Invariants:
//! - Seeds, expected outputs, comparison, statistics and verdict stay in this process. A candidate's own
//!   process holds the inputs of one call at a time, and its word counts only against it.
//! - A candidate runs in a process of its own, shut in before its first line; whatever it does ends
//!   with that process, and the next candidate is judged as if it had not been there.
//! - Every call gets fresh contents, and every result is compared, those of timed calls too.

mod bank;
mod candidate;
mod channel;
mod counted_launch;
mod evidence;
mod fenced_answer;
mod judgement;
mod kernel_candidate;
mod problem;
mod process;
mod trial;

pub use bank::{Limits, Task};
pub use candidate::{
    Amount, Candidate, CandidateLaunch, Language, candidates_of_folder, read_candidates,
};
pub use judgement::{Cheat, Explanation, FAMILY, Judgement, Outcome, Protection, Speed};
pub use kernel_candidate::{KernelBench, KernelClock, LoadedKernel, Stage};
pub use trial::Bench;
