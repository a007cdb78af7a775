//! The verbs, one file each: its arguments, its one call, its human view.

use anyhow::Result;
use clap::Subcommand;

use crate::arguments::Global;
use crate::exit::Outcome;

mod baseline;
mod bench;
mod compare;
mod compare_baselines;
mod devices;
mod explain;
mod sampling;
mod verify;

/// The verbs.
#[derive(Subcommand)]
pub(crate) enum Command {
    Baseline(baseline::Baseline),
    Bench(bench::Bench),
    Compare(compare::Compare),
    Devices(devices::Devices),
    Explain(explain::Explain),
    Verify(verify::Verify),
}

impl Command {
    /// Does what the verb says.
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        match self {
            Self::Baseline(command) => command.run(global),
            Self::Bench(command) => command.run(global),
            Self::Compare(command) => command.run(global),
            Self::Devices(command) => command.run(global),
            Self::Explain(command) => command.run(global),
            Self::Verify(command) => command.run(global),
        }
    }
}
