//! Recursive filters, and curves made of them.

mod biquad;
mod emphasis;
mod weighting;

pub use biquad::{Biquad, Cascade};
pub use emphasis::{deemphasise, preemphasise};
pub use weighting::Weighting;
