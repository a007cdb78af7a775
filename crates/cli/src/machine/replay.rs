//! `warpsmith replay FILE`: the live view of a recording.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use warpsmith_telemetry::Board;
use warpsmith_telemetry::recording::Recording;
use warpsmith_telemetry::screen::Source;

use super::{sampling, watch};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::{Format, Global};
use warpsmith_console::inputs;
use warpsmith_console::numbers;
use warpsmith_console::output;

/// Time between two frames.
const FRAME: Duration = Duration::from_millis(250);

/// Show a recording as `watch` shows the machine.
///
/// It starts at any point and plays at any speed. ← →, PgUp, PgDn, Home, + and - move about in it; the
/// other keys are those of `watch`, but no process can be ended.
#[derive(Args)]
#[command(after_long_help = "Examples:\n  warpsmith replay run.wsrec\n  \
                        warpsmith replay night.wsrec --at 3h --speed 60\n  \
                        warpsmith replay run.wsrec --at 45s --once")]
pub(crate) struct Replay {
    /// The recording.
    #[arg(value_parser = inputs::file())]
    file: PathBuf,
    /// Begin this long after its start.
    #[arg(long, default_value = "0s", value_name = "TIME", value_parser = numbers::duration)]
    at: Duration,
    /// How many times as fast as it was recorded.
    #[arg(long, value_name = "TIMES", default_value_t = 1.0)]
    speed: f64,
    /// Print what was known at that point and end.
    #[arg(long)]
    once: bool,
}

impl Replay {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        if !(self.speed.is_finite() && self.speed > 0.0) {
            bail!(
                "`--speed {}` is not a speed: use a number above 0",
                self.speed
            );
        }
        let recording = Recording::open(&self.file)?;
        if !recording.is_complete() {
            output::note(
                global,
                "the recording has no end: showing what is there of it",
            );
        }
        let Some((first, last)) = recording.span() else {
            bail!("`{}` holds no samples", self.file.display());
        };
        let length = last.since(first);
        if self.at > length {
            bail!(
                "`--at {}s` is after the end: the recording is {:.1} s long",
                self.at.as_secs_f64(),
                length.as_secs_f64()
            );
        }
        if self.once || global.format == Format::Json {
            let mut board = Board::new(recording.inventory().clone());
            let end = first.plus(self.at);
            let mut events = recording.events();
            for event in events.by_ref() {
                let event = event?;
                if event.at > end {
                    break;
                }
                board.apply(event);
            }
            sampling::say_damage(global, events.damaged());
            watch::print_snapshot(global, &board)?;
            return Ok(Outcome::Fine);
        }
        let mut played = warpsmith_telemetry::Replay::start(recording, self.at, self.speed)?;
        // The name says which it is; a long path would push it off the line.
        let name = self.file.file_name().unwrap_or(self.file.as_os_str());
        let title = name.to_string_lossy().into_owned();
        watch::show(global, Source::Replay(&mut played), title, FRAME)?;
        Ok(Outcome::Fine)
    }
}
