//! Baselines: a timed measurement of GPUs and host, its statistics, its verdict, and the
//! comparison of two of them.

mod bootstrap;
mod codes;
mod collector;
mod comparison;
mod comparison_text;
mod document;
mod gpu_rules;
mod host_rules;
mod series;
mod statistics;
mod text;
mod thermal;
mod throttle;

pub use codes::FAMILY;
pub use collector::{Collector, Expectation};
pub use comparison::{
    Comparison, ComparisonError, Difference, MetricComparison, Threshold, Verdict, compare,
};
pub use comparison_text::comparison_text;
pub use document::{
    BaselineBody, EnergyUse, Fitness, GpuBaseline, HostBaseline, Metric, ProcessSeen,
};
pub use series::Series;
pub use statistics::{Estimate, Summary, quantile};
pub use text::baseline_text;
pub use thermal::ThermalBand;
pub use throttle::{ThrottleReason, ThrottleShare};
