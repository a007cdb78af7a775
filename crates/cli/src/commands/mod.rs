//! The verbs, one file each: its arguments, its one call, its human view.

use anyhow::Result;
use clap::Subcommand;

use crate::arguments::Global;
use crate::exit::Outcome;

mod ablate;
mod bench;
mod compare;
mod devices;
mod explain;
mod history;
mod leak;
mod profile;
mod run;
mod scale;
mod selftest;
mod verify;

/// The verbs.
#[derive(Subcommand)]
pub(crate) enum Command {
    Ablate(ablate::Ablate),
    Bench(bench::Bench),
    Compare(compare::Compare),
    Devices(devices::Devices),
    Explain(explain::Explain),
    History(history::HistoryCommand),
    Leak(leak::Leak),
    Profile(profile::Profile),
    Run(run::Run),
    Scale(scale::Scale),
    Selftest(selftest::Selftest),
    Verify(verify::Verify),
}

impl Command {
    /// Does what the verb says.
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        match self {
            Self::Ablate(command) => command.run(global),
            Self::Bench(command) => command.run(global),
            Self::Compare(command) => command.run(global),
            Self::Devices(command) => command.run(global),
            Self::Explain(command) => command.run(global),
            Self::History(command) => command.run(global),
            Self::Leak(command) => command.run(global),
            Self::Profile(command) => command.run(global),
            Self::Run(command) => command.run(global),
            Self::Scale(command) => command.run(global),
            Self::Selftest(command) => command.run(global),
            Self::Verify(command) => command.run(global),
        }
    }
}
