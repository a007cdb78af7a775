//! Whether memory leaks over the steps of a run: low-water marks, level shifts, a trend test that
//! is safe for wandering noise, and a verdict with bytes per step.

pub mod detector;
pub mod level_shift;
pub mod low_water;
pub mod process_tree;
pub mod resident;
pub mod trend_test;
