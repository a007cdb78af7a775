//! The verbs, one file each: its arguments, its one call, its human view.

use anyhow::Result;
use clap::Subcommand;

use crate::arguments::Global;
use crate::exit::Outcome;

mod baseline;
pub(crate) mod bench;
mod compare;
mod compare_baselines;
mod compile;
mod compile_cuda;
mod compile_python;
pub(crate) mod devices;
mod exec;
mod explain;
mod export;
mod health;
mod record;
mod replay;
mod report;
mod sampling;
mod verify;
mod voice;
mod watch;

/// The verbs.
#[derive(Subcommand)]
pub(crate) enum Command {
    Baseline(baseline::Baseline),
    Bench(bench::Bench),
    Compare(compare::Compare),
    Compile(compile::Compile),
    Devices(devices::Devices),
    Exec(exec::Exec),
    Explain(explain::Explain),
    Export(export::Export),
    Health(health::Health),
    Record(record::Record),
    Replay(replay::Replay),
    Report(report::Report),
    Verify(verify::Verify),
    Voice(voice::Voice),
    Watch(watch::Watch),
}

impl Command {
    /// Does what the verb says.
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        match self {
            Self::Baseline(command) => command.run(global),
            Self::Bench(command) => command.run(global),
            Self::Compare(command) => command.run(global),
            Self::Compile(command) => command.run(global),
            Self::Devices(command) => command.run(global),
            Self::Exec(command) => command.run(global),
            Self::Explain(command) => command.run(global),
            Self::Export(command) => command.run(global),
            Self::Health(command) => command.run(global),
            Self::Record(command) => command.run(global),
            Self::Replay(command) => command.run(global),
            Self::Report(command) => command.run(global),
            Self::Verify(command) => command.run(global),
            Self::Voice(command) => command.run(global),
            Self::Watch(command) => command.run(global),
        }
    }
}
