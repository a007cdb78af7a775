//! Whether a kernel does what its case says, at awkward sizes, on fresh inputs, with poisoned outputs.

mod arrays;
mod check;
mod comparison;
mod expectation;
mod findings;
mod leftover;
mod pattern;
mod verdict;

pub use arrays::{ArrayTruth, compare_arrays};
pub use check::Verifier;
pub(crate) use check::wanted_answers;
pub(crate) use comparison::Judge;
pub use comparison::{OutputComparison, WrongElement};
pub(crate) use expectation::Expectation;
pub use findings::{FAMILY, judge};
pub use verdict::{Check, Plan, Verdict, Verification};
