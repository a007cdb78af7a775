//! What the user typed: the global options and one command.

use clap::{Args, Parser, ValueEnum};
use warpsmith_device::DeviceChoice;

use crate::commands::Command;

/// The GPU engineer's workbench: compile a kernel, run it, check it against a reference, measure
/// it, explain the machine it ran on.
#[derive(Parser)]
#[command(
    name = "warpsmith",
    version,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Exit codes: 0 fine, 1 done and what was found is not fine, 2 could not be done, \
                  3 this machine cannot.\nData goes to stdout, everything else to stderr."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options that every command takes.
#[derive(Args, Clone)]
pub(crate) struct Global {
    /// Where to run: `auto`, `cpu`, `cuda` or `cuda:N`.
    #[arg(
        long,
        global = true,
        default_value = "auto",
        help_heading = "Global options"
    )]
    pub(crate) device: DeviceChoice,
    /// How to print results.
    #[arg(long, global = true, value_enum, default_value_t = Format::Human, help_heading = "Global options")]
    pub(crate) format: Format,
    /// Say only what was asked for: no progress, no notes.
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "verbose",
        help_heading = "Global options"
    )]
    pub(crate) quiet: bool,
    /// Say more about what is going on.
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub(crate) verbose: bool,
    /// When to use colour.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, help_heading = "Global options")]
    pub(crate) color: Color,
}

/// How results are printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Tables and sentences.
    Human,
    /// One JSON document, the contract for programs.
    Json,
}

/// When colour is used.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Even into a pipe.
    Always,
    /// Never.
    Never,
}

/// Reads the command line; prints help, version or a usage error and exits where that is the answer.
pub(crate) fn parse() -> Arguments {
    Arguments::parse()
}
