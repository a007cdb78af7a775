//! Developer's commands: `cargo xtask test` and what it is made of.

use anyhow::Result;
use clap::{Parser, Subcommand};

mod conformance;

#[derive(Parser)]
#[command(name = "xtask", about = "Developer's commands for Warpsmith")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Conformance(conformance::Conformance),
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Conformance(command) => command.run(),
    }
}
