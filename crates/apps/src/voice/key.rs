//! `warpsmith voice key`: the key of a piece and its tuning.

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde::Serialize;
use warpsmith_descriptors::key::{
    Key as Heard, KeyEstimate, KeySettings, Mode, Profile, find_key_of,
};

use super::batch::{Batch, of_one_file};
use super::input::{Input, of_file};
use super::left_out::LeftOut;
use super::recording::analyse;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output::{print, report};
use warpsmith_console::table::Table;

/// Estimate the key of a piece, and how it is tuned.
///
/// The power of the twelve pitch classes over the whole recording is correlated with what listeners
/// expect in each of the 24 major and minor keys. One key is reported for a recording: pieces that
/// change their key get the one that fits best on average, and a piece in natural minor is often taken for
/// its relative major, which has the same notes.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith voice key song.wav
  warpsmith voice key album/ --format json
  warpsmith voice key song.flac --profile krumhansl")]
pub(crate) struct Key {
    #[command(flatten)]
    input: Input,
    /// Whose expectations of a key.
    #[arg(long, value_enum, default_value_t = Expected::Temperley)]
    profile: Expected,
    /// Semitones that the music is tuned above A4 = 440 Hz; default: estimated.
    #[arg(long, value_name = "SEMITONES", allow_negative_numbers = true)]
    tuning: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Expected {
    /// Ratings of probe tones (Krumhansl and Kessler, 1982).
    Krumhansl,
    /// Frequencies in a corpus (Temperley, 1999).
    Temperley,
}

/// What is said of all files.
#[derive(Serialize)]
struct Body {
    files: Vec<Row>,
    /// Audio in folders that is not read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<LeftOut>,
}

#[derive(Serialize)]
struct Row {
    file: String,
    /// Absent where nothing has a pitch.
    key: Option<Named>,
    /// The key that fits next best.
    next: Option<Named>,
    /// Semitones from A4 = 440 Hz.
    tuning_semitones: f64,
    /// Shares of C, C#, D and so on.
    classes: Vec<f64>,
}

#[derive(Serialize)]
struct Named {
    name: String,
    tonic: usize,
    mode: Mode,
    correlation: f64,
}

impl From<&Heard> for Named {
    fn from(key: &Heard) -> Self {
        Self {
            name: key.name(),
            tonic: key.tonic,
            mode: key.mode,
            correlation: key.correlation,
        }
    }
}

impl Row {
    fn of(file: String, heard: &KeyEstimate) -> Self {
        Self {
            file,
            key: heard.keys.first().map(Named::from),
            next: heard.keys.get(1).map(Named::from),
            tuning_semitones: heard.tuning,
            classes: heard.classes.to_vec(),
        }
    }

    fn cells(&self) -> [String; 6] {
        let name = |key: &Option<Named>| key.as_ref().map_or("-".into(), |key| key.name.clone());
        let fit = |key: &Option<Named>| {
            let fits = key.as_ref().map(|key| format!("{:.2}", key.correlation));
            fits.unwrap_or_else(|| "-".into())
        };
        [
            self.file.clone(),
            name(&self.key),
            fit(&self.key),
            name(&self.next),
            fit(&self.next),
            format!("{:+.2}", self.tuning_semitones),
        ]
    }
}

impl Key {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let settings = KeySettings {
            profile: match self.profile {
                Expected::Krumhansl => Profile::Krumhansl,
                Expected::Temperley => Profile::Temperley,
            },
            tuning: self.tuning,
        };
        let paths = self.input.files();
        let mut batch = Batch::new(global, paths.len(), &self.input)?;
        let mut files = Vec::new();
        for file in &paths {
            batch.begin(&file.path);
            let heard = of_one_file(&file.path, || {
                analyse(&self.input, &file.path, |recording| {
                    find_key_of(recording, &settings)
                })
            })
            .map_err(|error| of_file(&file.path, error));
            batch.end(heard.map(|heard| {
                files.push(Row::of(file.path.display().to_string(), &heard));
            }))?;
        }
        if !files.is_empty() {
            let left_out = self.input.list_left_out();
            print(
                global,
                &report("voice key", Body { files, left_out }),
                human,
            )?;
        }
        batch.finish()
    }
}

fn human(body: &Body) -> String {
    let mut table = Table::new(&["file", "key", ">fit", "next", ">fit", ">tuning"]);
    for row in &body.files {
        table.row(row.cells());
    }
    table.to_string()
}
