//! Whether a kernel does what its case says, at awkward sizes, on fresh inputs, with poisoned outputs.

mod arrays;
mod check;
mod comparison;
mod expectation;
mod findings;
mod leftover;
mod pattern;

pub use arrays::{ArrayTruth, compare_arrays};
pub use check::{Check, Plan, Verdict, Verification, Verifier};
pub(crate) use comparison::Judge;
pub use comparison::{OutputComparison, WrongElement};
pub(crate) use expectation::Expectation;
pub use findings::{FAMILY, judge};
