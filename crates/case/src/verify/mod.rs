//! Whether a kernel does what its case says, at awkward sizes, on fresh inputs, with poisoned outputs.

mod check;
mod comparison;
mod expectation;
mod findings;
mod leftover;
mod pattern;

pub use check::{Check, Plan, Verdict, Verification, Verifier};
pub use comparison::{OutputComparison, WrongElement};
pub use findings::{FAMILY, judge};
