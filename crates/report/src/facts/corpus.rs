//! A sample of the data set that this program makes.

use warpsmith_core::Finding;
use warpsmith_corpus::Statistics;

/// A sample of the data set.
pub struct CorpusFacts {
    /// What it is made of.
    pub statistics: Statistics,
    /// How long it took, with every pair run.
    pub seconds: f64,
    /// The seed that makes the same bytes.
    pub seed: u64,
    /// What is wrong with it.
    pub findings: Vec<Finding>,
    /// Name and text of a short pair.
    pub example: Option<(String, String)>,
}
