//! The detectors on simulated histories.

#[path = "../histories/mod.rs"]
mod histories;
mod known_answers;
