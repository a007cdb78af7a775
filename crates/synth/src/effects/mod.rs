//! Filter, chorus, delay and reverb, a quantum at a time. On the CPU alone: each quantum of a line
//! depends on the one before.
//!
//! Invariant: every delay is longer than a quantum, so that a quantum of each line is known before
//! it begins and the loops run over time in vector registers.

pub(crate) mod chain;
pub(crate) mod chorus;
pub(crate) mod control;
pub(crate) mod delay;
pub(crate) mod early;
pub(crate) mod filter;
mod line;
pub(crate) mod reverb;
pub(crate) mod sweep;
