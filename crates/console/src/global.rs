//! The options that every command takes, and the process that it runs in.

use std::ffi::OsString;

use clap::{Args, ValueEnum};
use warpsmith_config::Setting;
use warpsmith_device::DeviceChoice;

use crate::host::Host;

/// Options that every command takes.
#[derive(Args, Clone)]
pub struct Global {
    /// Where to run: `auto`, `cpu`, `cuda`, `cuda:N`, `vulkan` or `vulkan:N`.
    #[arg(
        long,
        global = true,
        default_value = "auto",
        help_heading = "Global options",
        hide_short_help = true
    )]
    pub device: DeviceChoice,
    /// How to print results.
    #[arg(long, global = true, value_enum, default_value_t = Format::Human, help_heading = "Global options", hide_short_help = true)]
    pub format: Format,
    /// Print only the result: no progress, no notes.
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "verbose",
        help_heading = "Global options",
        hide_short_help = true
    )]
    pub quiet: bool,
    /// Say more about what is going on.
    #[arg(
        short,
        long,
        global = true,
        help_heading = "Global options",
        hide_short_help = true
    )]
    pub verbose: bool,
    /// When to use colour.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, help_heading = "Global options", hide_short_help = true)]
    pub color: Color,
    /// The process that the program runs in.
    #[arg(skip)]
    pub host: Host,
    /// Where reports go.
    #[arg(skip)]
    pub report_stream: ReportStream,
    /// Every key of the configuration with what is in force.
    #[arg(skip)]
    pub in_force: Vec<Setting>,
    /// The command line after the program's name.
    #[arg(skip)]
    pub words: Vec<OsString>,
}

/// A stream that reports go to.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum ReportStream {
    #[default]
    /// Results, on stdout.
    Stdout,
    /// The standard output is taken by a file of the call.
    Stderr,
}

/// How results are printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables and sentences.
    Human,
    /// One JSON document, the contract for programs.
    Json,
}

/// When colour is used.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Even into a pipe.
    Always,
    /// Never.
    Never,
}
