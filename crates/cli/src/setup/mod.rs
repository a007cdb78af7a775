//! Verbs that set the program up: configuration, completions, manual pages, a test of the clocks.

pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod manual;
pub(crate) mod selftest;
