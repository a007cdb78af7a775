//! `warpsmith manual`: what the documentation takes from the program itself: man pages, the reference of every command,
//! the workloads, the finding codes, and pages made from measurements.
//!
//! Nothing here is written twice: the text comes from the same declarations that the program runs
//! on, and `tests/trials/documentation` compares the committed pages with them.

mod command;
mod configuration;
mod findings;
mod man;
mod metrics;
mod page;
mod parity;
mod performance;
mod verbs;
mod workloads;

pub(crate) use command::Manual;
