//! `warpsmith watch`: the GPUs live on a terminal, or once as text or JSON.

use std::io::{IsTerminal, Write, stdout};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use warpsmith_core::Report;
use warpsmith_telemetry::screen::{ScreenOptions, Source, run, snapshot_text};
use warpsmith_telemetry::{Board, Settings, Tier, machine_identity, snapshot};

use super::sampling::{self, Selection};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::{Color, Format, Global};
use warpsmith_console::interruption::Interruption;

/// All readings of a healthy H200 take 30 ms; a GPU that takes this long is shown as hung.
const SNAPSHOT_LIMIT: Duration = Duration::from_secs(2);

/// Watch the GPUs live: use, memory, power, temperature, processes.
///
/// Each GPU and MIG instance is a row with bars, and what holds the clocks back. Below are the processes
/// with their use, memory, user, container or pod, and command. Keys order and filter them, show them as
/// a tree, open one GPU with plots of the last five minutes, and end a process after a question; `?` lists
/// the keys. It needs a terminal of 60 columns and 15 lines.
///
/// With `--once` (or into a pipe, or with `--format json`) a single snapshot is printed as text
/// that needs no drawing.
#[derive(Args)]
#[command(
    // Two samples a second are what two frames a second can show.
    mut_arg("interval", |interval| interval.default_value("500ms")),
    after_long_help = "Examples:\n  warpsmith watch\n  warpsmith watch --once\n  \
                        warpsmith watch --format json | jq '.body.gpus[0].state'\n  \
                        warpsmith watch --color never --gpu 0 --interval 100ms"
)]
pub(crate) struct Watch {
    #[command(flatten)]
    selection: Selection,
    /// Print one snapshot and end.
    #[arg(long)]
    once: bool,
    /// Show command lines of processes, which can hold secrets.
    #[arg(long)]
    with_command_lines: bool,
}

impl Watch {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let mut settings = self.selection.settings();
        settings.command_lines = self.with_command_lines;
        settings.process_use = true;
        if self.once || global.format == Format::Json || !can_draw() {
            let Some(machine) = sampling::open(global, &settings)? else {
                return Ok(Outcome::CannotHere);
            };
            print_snapshot(global, &snapshot(machine, &settings, SNAPSHOT_LIMIT))?;
            return Ok(Outcome::Fine);
        }
        let Some(machine) = sampling::attend(global, &settings)? else {
            return Ok(Outcome::CannotHere);
        };
        let frame = settings.schedule.period(Tier::State);
        show(global, Source::Live(machine.board()), String::new(), frame)?;
        machine.stop();
        Ok(Outcome::Fine)
    }
}

/// Whether standard output is a terminal on which text can be placed.
fn can_draw() -> bool {
    stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|name| name != "dumb")
}

/// Prints a board as text or as a report.
pub(super) fn print_snapshot(global: &Global, board: &Board) -> Result<()> {
    let mut out = stdout().lock();
    if global.format == Format::Json {
        let report = Report::new("watch", machine_identity(&board.inventory), board);
        serde_json::to_writer_pretty(&mut out, &report)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", snapshot_text(board))?;
    }
    Ok(())
}

/// The live view of a board; `frame` is the time between two frames, as far as eyes follow.
pub(super) fn show(
    global: &Global,
    source: Source<'_>,
    title: String,
    frame: Duration,
) -> Result<()> {
    let colour = match global.color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    };
    if !can_draw() {
        bail!("the live view needs a terminal that can draw; `--once` prints a snapshot");
    }
    let options = ScreenOptions {
        colour,
        title,
        frame: frame.clamp(Duration::from_millis(100), Duration::from_secs(1)),
        proc_root: Settings::default().proc_root,
        // The terminal is given back before the program ends.
        ended: Interruption::listen()?.flag(),
    };
    run(source, &options).context("cannot draw on this terminal")
}
