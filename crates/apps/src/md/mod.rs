//! `warpsmith md …`: molecular dynamics.

use anyhow::Result;
use clap::{Args, Subcommand};

use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;

mod run;
mod start;
mod table;

/// Run molecular dynamics: Lennard-Jones trajectories.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith md run --atoms 4000 --steps 2000
  warpsmith md run --atoms 32000 --steps 1000 --checkpoint melt.ckpt --output melt.xyz
  warpsmith md run --restart melt.ckpt --steps 1000
  warpsmith md table")]
pub struct Md {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Run(Box<run::Run>),
    Table(table::TableOfSizes),
}

impl Md {
    /// Does what was typed.
    pub fn run(&self, global: &Global) -> Result<Outcome> {
        match &self.verb {
            Verb::Run(verb) => verb.run(global),
            Verb::Table(verb) => verb.run(global),
        }
    }
}
