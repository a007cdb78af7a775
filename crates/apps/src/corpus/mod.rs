//! `warpsmith corpus …`: data sets of kernels and the C++ that belongs to them.

use anyhow::Result;
use clap::{Args, Subcommand};

use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;

mod card;
mod contamination;
mod generate;
mod mistakes;
mod origin;
mod show;
mod stats;
mod tasks;
mod verify;

/// Make data sets of Python kernels with their CUDA and C++.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith corpus generate --count 1000000 --output pairs
  warpsmith corpus generate --count 5000 --output small --categories vector,matrix --difficulty 1-3 --verify executed
  warpsmith corpus generate --count 10000000 --output pairs --shards 3/64
  warpsmith corpus verify pairs
  warpsmith corpus stats pairs --html stats.html
  warpsmith corpus show pairs 17
  warpsmith corpus card pairs
  warpsmith corpus mistakes --count 10000 --output mistakes
  warpsmith corpus tasks --count 500 --output tasks
  warpsmith corpus contamination tasks --against KernelBench")]
pub struct Corpus {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Generate(Box<generate::Generate>),
    Mistakes(mistakes::Mistakes),
    Tasks(tasks::Tasks),
    Contamination(contamination::Contamination),
    Verify(verify::Verify),
    Stats(stats::Stats),
    Show(show::Show),
    Card(card::Card),
}

impl Corpus {
    /// Does what was typed.
    pub fn run(&self, global: &Global) -> Result<Outcome> {
        match &self.verb {
            Verb::Generate(verb) => verb.run(global),
            Verb::Mistakes(verb) => verb.run(global),
            Verb::Tasks(verb) => verb.run(global),
            Verb::Contamination(verb) => verb.run(global),
            Verb::Verify(verb) => verb.run(global),
            Verb::Stats(verb) => verb.run(global),
            Verb::Show(verb) => verb.run(global),
            Verb::Card(verb) => verb.run(global),
        }
    }
}
