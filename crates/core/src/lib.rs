//! The vocabulary that every Warpsmith crate shares: kernel images, tolerances and agreement, arguments,
//! findings, rules, the report envelope, quantities with units, and names that were mistyped.
//!
//! Nothing here knows about GPUs, files or clocks: values in, values out.

// What `kernel!` expands to names this crate, here too.
extern crate self as warpsmith_core;

mod argument;
mod finding;
mod kernel_image;
mod nearest;
mod quantity;
mod report;
mod rule;
mod story;
mod tolerance;

pub use argument::ArgumentError;
pub use finding::{Certainty, Confidence, Evidence, Finding, Severity, Span};
pub use kernel_image::{Element, KernelImage, Parameter, kernel, ptx};
pub use nearest::{did_you_mean, nearest};
pub use quantity::{Bytes, BytesPerSecond, Flops, Hertz, Seconds};
pub use report::{MachineIdentity, REPORT_SCHEMA, Report};
pub use rule::{Rule, RuleResult, Verdict, run_rules};
pub use story::{Family, Story};
pub use tolerance::{Agreement, Disagreement, Real, Tolerance};
