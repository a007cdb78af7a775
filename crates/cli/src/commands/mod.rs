//! The verbs, one file each: its arguments, its one call, its human view.

use anyhow::Result;
use clap::Subcommand;

use crate::arguments::Global;
use crate::exit::Outcome;

mod explain;

/// The verbs.
#[derive(Subcommand)]
pub(crate) enum Command {
    Explain(explain::Explain),
}

impl Command {
    /// Does what the verb says.
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        match self {
            Self::Explain(command) => command.run(global),
        }
    }
}
