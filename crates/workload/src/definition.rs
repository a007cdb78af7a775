//! What a workload computes by its formula, in double precision: a second way to the results, which
//! proves the CPU form as that proves the GPU's.

use crate::parameters::Parameters;
use crate::workload::ArguedTolerance;

/// The results of a workload's first run, straight from the formula. It shares no code with the forms that it
/// checks, and is as short as the formula is.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// The results, from what [`Prepared::inputs`](crate::Prepared::inputs) says before the run.
    pub results: fn(&Parameters, &[Vec<f64>]) -> Vec<f64>,
    /// How far the CPU form may be from them, and why. What is compared are results rounded to the CPU
    /// form's type.
    pub tolerance: ArguedTolerance,
}
