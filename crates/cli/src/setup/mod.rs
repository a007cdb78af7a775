//! Verbs that set the program up: completions, manual pages, a test of the device.

pub(crate) mod completions;
pub(crate) mod manual;
pub(crate) mod selftest;
