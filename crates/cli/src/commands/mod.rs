//! The verbs, one file each: its arguments, its one call, its human view.

use anyhow::Result;
use clap::Subcommand;

use crate::arguments::Global;
use crate::exit::Outcome;

mod audit;
pub(crate) mod bench;
pub(crate) mod check;
mod compile;
mod compile_cuda;
pub(crate) mod devices;
mod explain;
mod report;
mod verify;

/// The verbs.
#[derive(Subcommand)]
pub(crate) enum Command {
    Audit(audit::Audit),
    Bench(bench::Bench),
    Check(check::Check),
    Compile(compile::Compile),
    Devices(devices::Devices),
    Explain(explain::Explain),
    Report(report::Report),
    Verify(verify::Verify),
}

impl Command {
    /// Does what the verb says.
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        match self {
            Self::Audit(command) => command.run(global),
            Self::Bench(command) => command.run(global),
            Self::Check(command) => command.run(global),
            Self::Compile(command) => command.run(global),
            Self::Devices(command) => command.run(global),
            Self::Explain(command) => command.run(global),
            Self::Report(command) => command.run(global),
            Self::Verify(command) => command.run(global),
        }
    }
}
