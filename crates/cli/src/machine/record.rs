//! `warpsmith record FILE`: keep everything that is sampled.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use warpsmith_core::Bytes;
use warpsmith_formats::check_partial_vacant;
use warpsmith_telemetry::Sampler;
use warpsmith_telemetry::recording::RecordingWriter;

use super::sampling::{self, Selection};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::interruption::Interruption;
use warpsmith_console::numbers;
use warpsmith_console::output;

/// Record every sample to a file.
///
/// `replay`, `baseline --from` and `export --from` read it. Recording ends with Ctrl-C or after
/// `--duration`.
///
/// The file is called FILE.partial until it is complete; what is in it can be read at any time, and
/// `kill -9` loses the last two seconds at most.
#[derive(Args)]
#[command(
    after_long_help = "Examples:\n  warpsmith record night.wsrec --duration 8h\n  \
                        warpsmith record run.wsrec --gpu 0\n  warpsmith replay run.wsrec"
)]
pub(crate) struct Record {
    /// The recording to write.
    file: PathBuf,
    /// How long to record; default: until Ctrl-C.
    #[arg(long, value_name = "TIME", value_parser = numbers::duration)]
    duration: Option<Duration>,
    #[command(flatten)]
    selection: Selection,
    /// Replace a recording of that name.
    #[arg(long)]
    force: bool,
    /// Keep command lines of processes, which can hold secrets.
    #[arg(long)]
    with_command_lines: bool,
}

/// How often events go to the writer, which keeps a second of them: a process that is killed loses
/// these two together.
const PAUSE: Duration = Duration::from_millis(500);

/// Time between readings of the host.
const HOST: Duration = Duration::from_secs(1);

impl Record {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        if !self.force {
            check_partial_vacant(&self.file)?;
        }
        let mut settings = self.selection.settings();
        settings.command_lines = self.with_command_lines;
        settings.process_use = true;
        // A recording of seconds is to tell of them on a machine without a GPU too.
        settings.schedule = settings.schedule.with_host(HOST);
        let Some(machine) = sampling::open(global, &settings)? else {
            return Ok(Outcome::CannotHere);
        };
        let interruption = Interruption::listen()?;
        let mut writer = RecordingWriter::create(&self.file, machine.inventory())?;
        let started = Instant::now();
        let (sampler, events) = Sampler::start(machine, &settings);
        let over = || {
            self.duration
                .is_some_and(|duration| started.elapsed() >= duration)
        };
        while !over() && !interruption.came() {
            let left = self
                .duration
                .map(|duration| duration.saturating_sub(started.elapsed()));
            interruption.wait(left.unwrap_or(Duration::MAX).min(PAUSE));
            for event in events.try_iter() {
                writer
                    .push(event)
                    .context("the recording stops here; what was written before is kept")?;
            }
            let (seconds, bytes) = (started.elapsed().as_secs_f64(), Bytes(writer.bytes()));
            output::progress(global, &format!("{seconds:6.1} s  {bytes}"));
        }
        sampler.stop();
        for event in events.try_iter() {
            writer.push(event)?;
        }
        let bytes = writer.finish()?;
        output::progress(global, "");
        let seconds = started.elapsed().as_secs_f64();
        output::note(
            global,
            &format!(
                "recorded {seconds:.1} s in {} ({:.0} B/s): {}",
                Bytes(bytes),
                bytes as f64 / seconds,
                self.file.display()
            ),
        );
        Ok(Outcome::Fine)
    }
}
