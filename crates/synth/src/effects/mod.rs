//! Filter, chorus, delay and reverb, a quantum at a time. On the CPU alone: each block of a line
//! depends on the one before.
//!
//! Invariant: every delay is at least a block long, so that a block of each line is known before it
//! begins and the loops run over time in vector registers.

pub(crate) mod chain;
pub(crate) mod chorus;
pub(crate) mod control;
pub(crate) mod delay;
pub(crate) mod early;
pub(crate) mod filter;
pub(crate) mod half_band;
mod line;
mod packed_line;
pub(crate) mod reverb;
pub(crate) mod room;
pub(crate) mod sweep;
