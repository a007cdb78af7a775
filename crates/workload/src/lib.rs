//! What can be run, checked and measured: a workload with its parameters, cost, output, tolerance and
//! techniques, and the seeded numbers that its inputs are made of.
//!
//! Knows neither clocks nor statistics nor any particular workload: operations implement these types,
//! and `measure` runs what implements them.

mod affordable;
mod definition;
mod output;
mod parameters;
pub mod random;
mod workload;

pub use affordable::affordable_settings;
pub use definition::Definition;
pub use output::Output;
pub use parameters::{BadParameter, ParameterKind, ParameterSpec, ParameterValue, Parameters};
pub use workload::{
    About, ActsOn, ArguedTolerance, Cost, Judgement, Prepared, Ready, Settings, Sizes, Technique,
    Workload, WorkloadError,
};
