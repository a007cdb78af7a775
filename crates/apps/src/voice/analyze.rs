//! `warpsmith voice analyze`: what is in many files, one row to a file, on all cores, pitch, mel features
//! and formants on a GPU where that is requested or faster.

use std::io::{Write, stderr};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use clap::Args;
use rayon::prelude::*;
use serde::Serialize;
use warpsmith_descriptors::overview::{Heard, Overview};
use warpsmith_device::CudaDevice;

use super::analysis::{Column, Sound, Wanted};
use super::batch::{of_group, of_one_file};
use super::device::{GROUP_BYTES, gpu_for};
use super::heard::{in_pieces, in_pieces_with_frames};
use super::input::Input;
use super::left_out::LeftOut;
use super::live::is_long;
use super::places::Place;
use super::sheet::{Destination, first_group};
use super::sources::SoundFile;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::{Format, Global};
use warpsmith_console::output::{check_outputs, print, progress, report};
use warpsmith_console::table::Table;

/// Summarise files: length, level, loudness, speech and pitch.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith voice analyze *.wav
  warpsmith voice analyze talk.mp3 --format json
  warpsmith voice analyze *.flac --output frames --as npy --columns pitch,speech,mel
  warpsmith voice analyze *.wav --device cuda", mut_arg("output", |output| output.help(
    "A file for the numbers of every 10 ms of one input, a directory for those of several; \
     without it only the summary is printed")))]
pub(crate) struct Analyze {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: Destination,
    /// What is written of every 10 ms, with `--output`.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Column::ALL)]
    columns: Vec<Column>,
}

/// What is said of all files.
#[derive(Serialize)]
struct Body {
    files: Vec<Row>,
    /// Audio in folders that is not read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<LeftOut>,
}

impl Body {
    /// What was said of the files that were not analysed.
    fn failures(&self) -> impl Iterator<Item = &str> {
        self.files.iter().filter_map(|row| match &row.result {
            Analysis::Failed { error } => Some(error.as_str()),
            Analysis::Done(_) => None,
        })
    }
}

/// One file, analysed or not.
#[derive(Serialize)]
struct Row {
    file: String,
    #[serde(flatten)]
    result: Analysis,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Analysis {
    #[serde(untagged)]
    Done(Overview),
    #[serde(untagged)]
    Failed { error: String },
}

impl Analyze {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let places = if self.destination.is_file() {
            self.destination.places(global, &self.input)?
        } else {
            let alone = |file: SoundFile| Place {
                input: file.path,
                output: None,
            };
            self.input.files().into_iter().map(alone).collect()
        };
        let global = &check_outputs(global, &[("--output", self.destination.file())])?;
        self.input.announce(global)?;
        let done = AtomicUsize::new(0);
        let count = places.len();
        let finish = |place: &Place, result: Result<Overview>| {
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            progress(global, &format!("{done}/{count} files"));
            Row {
                file: place.input.display().to_string(),
                result: match result {
                    Ok(summary) => Analysis::Done(summary),
                    Err(error) => Analysis::Failed {
                        error: format!("{error:#}"),
                    },
                },
            }
        };
        let files: Vec<Row> = match gpu_for(global, "voice/pyin", &self.input, true)? {
            None => places
                .par_iter()
                .map(|place| {
                    let done = of_one_file(&place.input, || {
                        if is_long(&self.input, &place.input) {
                            return Ok(Overview::from(self.hear_in_pieces(global, place)?));
                        }
                        let sound = Sound::read(&self.input, &place.input)?.hear(self.wanted())?;
                        self.summarise(global, place, sound)
                    });
                    finish(place, done)
                })
                .collect(),
            Some(gpu) => self.on_gpu(global, &gpu, &places, finish)?,
        };
        progress(global, "");
        let left_out = self.input.list_left_out();
        let report = report("voice analyze", Body { files, left_out });
        print(global, &report, human)?;
        let failed = report.body.failures().count();
        // JSON has them beside the results.
        if global.format == Format::Human && failed > 0 {
            let mut out = stderr().lock();
            for error in report.body.failures() {
                // Nothing can be done about a standard error that is closed.
                let _ = writeln!(out, "failed: {error}");
            }
            let _ = writeln!(out, "{failed} of {} files failed", report.body.files.len());
        }
        Ok(Outcome::fine_if(failed == 0))
    }

    /// Many files at a time: decoding and what has no kernel on all cores, the rest in one pass over the
    /// GPU.
    fn on_gpu(
        &self,
        global: &Global,
        gpu: &CudaDevice,
        places: &[Place],
        finish: impl Fn(&Place, Result<Overview>) -> Row + Sync,
    ) -> Result<Vec<Row>> {
        let mut rows = Vec::with_capacity(places.len());
        let mut rest = places;
        while !rest.is_empty() {
            let (group, after) = rest.split_at(first_group(rest, GROUP_BYTES));
            let heard = of_group(group, &mut |places| {
                let sounds: Vec<Result<Sound>> = places
                    .par_iter()
                    .map(|place| Sound::read(&self.input, &place.input))
                    .collect();
                Sound::hear_all(global, gpu, sounds, self.wanted())
            })?;
            let tasks: Vec<_> = group.iter().zip(heard).collect();
            rows.extend(
                tasks
                    .into_par_iter()
                    .map(|(place, sound)| {
                        let done =
                            of_one_file(&place.input, || self.summarise(global, place, sound?));
                        finish(place, done)
                    })
                    .collect::<Vec<Row>>(),
            );
            rest = after;
        }
        Ok(rows)
    }

    fn wanted(&self) -> Wanted {
        let wants = |column| self.destination.is_file() && self.columns.contains(&column);
        Wanted {
            mel: wants(Column::Mel),
            formants: wants(Column::Formants),
        }
    }

    fn summarise(&self, global: &Global, place: &Place, sound: Sound) -> Result<Overview> {
        let speech = sound.speech()?;
        if self.destination.is_file() {
            let sheet = sound.sheet(&self.columns, &speech)?;
            self.destination.write(global, place, &sheet)?;
        }
        Ok(Overview::from(Heard {
            speech,
            frames: sound.pitch.voiced.len(),
            voiced: sound.pitch.voiced_hertz().collect(),
            ..Heard::levels(&sound.audio)
        }))
    }

    fn hear_in_pieces(&self, global: &Global, place: &Place) -> Result<Heard> {
        let path = &place.input;
        if !self.destination.is_file() {
            return in_pieces(&self.input, path);
        }
        in_pieces_with_frames(&self.input, path, &self.columns, |names, fill| {
            self.destination.write_rows(global, place, names, fill)
        })
    }
}

fn human(body: &Body) -> String {
    let mut table = Table::new(&[
        "file",
        ">seconds",
        ">Hz",
        ">channels",
        ">peak",
        ">LUFS",
        ">speech s",
        ">voiced",
        ">pitch Hz",
    ]);
    for row in &body.files {
        let Analysis::Done(summary) = &row.result else {
            continue;
        };
        table.row([
            row.file.clone(),
            format!("{:.2}", summary.seconds),
            summary.sample_rate.to_string(),
            summary.channels.to_string(),
            format!("{:.3}", summary.peak),
            summary
                .loudness_lufs
                .map_or("-".into(), |lufs| format!("{lufs:.1}")),
            format!("{:.2}", summary.speech_seconds),
            format!("{:.0} %", 100.0 * summary.voiced_share),
            summary
                .pitch_median_hz
                .map_or("-".into(), |hz| format!("{hz:.1}")),
        ]);
    }
    table.to_string()
}
