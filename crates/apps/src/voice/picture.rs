//! `warpsmith voice picture`: wave, spectrogram, pitch and speech of a recording, as PNG, SVG or a page.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use warpsmith_descriptors::picture::{FrequencyScale, Lane, Picture as Drawn, PictureSettings};
use warpsmith_formats::{OutputFile, is_stdout};

use super::input::{Input, of_file};
use super::sources::SoundFile;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;

/// Draw a recording: wave, spectrogram, pitch and speech over one axis of time.
///
/// A page (`.html`) is one file that also plays the sound: a cursor moves with it, and a click goes there.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith voice picture talk.wav --output talk.png
  warpsmith voice picture song.flac --output song.html
  warpsmith voice picture talk.wav --lanes spectrogram,pitch --frequencies linear --max-hz 4000 --output talk.svg
  warpsmith voice picture talk.wav --width 3000 --height 600 --range-db 60 --output talk.png")]
pub(crate) struct Picture {
    #[command(flatten)]
    input: Input,
    /// The picture; its name ends in `.png`, `.svg` or `.html`, or is `-`: a PNG on standard output.
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,
    /// Lanes from the top.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Shown::Wave, Shown::Spectrogram, Shown::Pitch, Shown::Speech])]
    lanes: Vec<Shown>,
    /// Pixels of the axis of time, 100 to 20000; default: one to 10 ms, 600 to 2000.
    #[arg(long, value_name = "PIXELS")]
    width: Option<usize>,
    /// Pixels of the spectrogram, 50 to 4000; the other lanes follow.
    #[arg(long, value_name = "PIXELS", default_value_t = PictureSettings::default().height)]
    height: usize,
    /// How frequencies lie on the spectrogram.
    #[arg(long, value_enum, default_value_t = Scale::Mel)]
    frequencies: Scale,
    /// The highest frequency of the spectrogram; default: half the sample rate.
    #[arg(long, value_name = "HZ")]
    max_hz: Option<f64>,
    /// Levels that much below the loudest are black.
    #[arg(long, value_name = "DB", default_value_t = PictureSettings::default().range_db)]
    range_db: f32,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shown {
    /// The largest and smallest sample of every pixel.
    Wave,
    /// Levels over time and frequency.
    Spectrogram,
    /// The frequency of the voice.
    Pitch,
    /// Where speech is.
    Speech,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scale {
    /// As an ear tells frequencies apart.
    Mel,
    /// Evenly.
    Linear,
}

impl Picture {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        self.input.announce(global)?;
        let files = self.input.files();
        let [SoundFile { path, .. }] = &files[..] else {
            bail!("a picture is drawn of one file at a time");
        };
        let extension = self.output.extension();
        let kind = match extension.and_then(|extension| extension.to_str()) {
            None if is_stdout(&self.output) => "png".to_owned(),
            extension => extension.unwrap_or_default().to_ascii_lowercase(),
        };
        if !["png", "svg", "html"].contains(&kind.as_str()) {
            bail!(
                "`{}` does not end in `.png`, `.svg` or `.html`",
                self.output.display()
            );
        }
        let (signal, rate) = self.input.signal(path)?;
        let title = path.file_name().unwrap_or(path.as_os_str());
        let drawn = Drawn::of(&signal, rate, &title.to_string_lossy(), &self.settings())
            .map_err(|error| of_file(path, error.into()))?;
        let context = || format!("cannot draw `{}`", path.display());
        let bytes = match kind.as_str() {
            "png" => drawn.png().with_context(context)?,
            "svg" => drawn.svg().with_context(context)?.into_bytes(),
            _ => drawn
                .page(&signal, rate)
                .with_context(context)?
                .into_bytes(),
        };
        let mut file = OutputFile::create(&self.output)?;
        file.write_all(&bytes)
            .with_context(|| format!("cannot write `{}`", self.output.display()))?;
        file.finish()?;
        Ok(Outcome::Fine)
    }

    fn settings(&self) -> PictureSettings {
        let lane = |shown: &Shown| match shown {
            Shown::Wave => Lane::Wave,
            Shown::Spectrogram => Lane::Spectrogram,
            Shown::Pitch => Lane::Pitch,
            Shown::Speech => Lane::Speech,
        };
        PictureSettings {
            lanes: self.lanes.iter().map(lane).collect(),
            width: self.width,
            height: self.height,
            scale: match self.frequencies {
                Scale::Mel => FrequencyScale::Mel,
                Scale::Linear => FrequencyScale::Linear,
            },
            highest_hz: self.max_hz,
            range_db: self.range_db,
        }
    }
}
