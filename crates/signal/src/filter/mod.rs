//! Recursive filters, and curves made of them.

mod biquad;
mod emphasis;
mod recursion;
mod weighting;

pub use biquad::{Biquad, Cascade};
pub use emphasis::{deemphasise, preemphasise};
pub use recursion::filter_recursively;
pub use weighting::Weighting;
