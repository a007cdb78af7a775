//! `warpsmith voice tempo|beats|tempogram`: how fast a piece is and where its beats are.

use anyhow::Result;
use clap::Args;
use warpsmith_descriptors::rhythm::{
    Over, RhythmSettings, Tempogram as Lags, envelope, find_beats, lag_bpm,
};

use super::input::Input;
use super::sheet::{Destination, Sheet};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;

/// What tempo and beats depend on.
#[derive(Args)]
struct Sizes {
    /// Points of the transform.
    #[arg(long, default_value_t = RhythmSettings::default().transform)]
    transform: usize,
    /// Samples between frames.
    #[arg(long, default_value_t = RhythmSettings::default().hop)]
    hop: usize,
}

/// Which tempo is likely.
#[derive(Args)]
struct Likely {
    /// The tempo that is most likely before anything is heard, beats per minute.
    #[arg(long, value_name = "BPM", default_value_t = RhythmSettings::default().start_bpm)]
    likely_tempo: f64,
    /// The fastest tempo that counts, beats per minute.
    #[arg(long, value_name = "BPM", default_value_t = RhythmSettings::default().fastest_bpm)]
    fastest: f64,
    /// How much beats insist on their distance.
    #[arg(long, default_value_t = RhythmSettings::default().tightness)]
    tightness: f64,
}

fn settings(sizes: &Sizes, likely: &Likely) -> RhythmSettings {
    RhythmSettings {
        transform: sizes.transform,
        hop: sizes.hop,
        start_bpm: likely.likely_tempo,
        fastest_bpm: likely.fastest,
        tightness: likely.tightness,
        ..RhythmSettings::default()
    }
}

/// Estimate the tempo of a piece, as librosa's beat tracker does.
///
/// `bpm` is the tempo whose period, in whole frames, fits best; `beat_bpm` is that of a straight line
/// through the beats, which is finer. A recording without a rise in level has neither.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith voice tempo song.wav
  warpsmith voice tempo album/ --as json --output tempos
  warpsmith voice tempo slow.flac --likely-tempo 70")]
pub(crate) struct Tempo {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: Destination,
    #[command(flatten)]
    sizes: Sizes,
    #[command(flatten)]
    likely: Likely,
}

impl Tempo {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let settings = settings(&self.sizes, &self.likely);
        self.destination.each(global, &self.input, |path| {
            let (signal, rate) = self.input.signal(path)?;
            let beats = find_beats(&signal, rate, &settings, None)?;
            let line = beats.line_bpm(rate, settings.hop);
            Ok(Sheet::new(
                ["bpm", "beat_bpm", "beats"].map(str::to_owned).to_vec(),
                vec![
                    beats.bpm.unwrap_or(f64::NAN),
                    line.unwrap_or(f64::NAN),
                    beats.frames.len() as f64,
                ],
            ))
        })
    }
}

/// List the beats of a piece, as librosa tracks them.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith voice beats song.wav
  warpsmith voice beats song.wav --bpm 96 --no-trim
  warpsmith voice beats album/ --output beats")]
pub(crate) struct Beats {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: Destination,
    #[command(flatten)]
    sizes: Sizes,
    #[command(flatten)]
    likely: Likely,
    /// The tempo, where you know it, beats per minute; 1 to 1000.
    #[arg(long)]
    bpm: Option<f64>,
    /// Keep faint beats at the start and the end.
    #[arg(long)]
    no_trim: bool,
}

impl Beats {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let settings = RhythmSettings {
            trim: !self.no_trim,
            ..settings(&self.sizes, &self.likely)
        };
        self.destination.each(global, &self.input, |path| {
            let (signal, rate) = self.input.signal(path)?;
            let beats = find_beats(&signal, rate, &settings, self.bpm)?;
            let seconds = |frame: &usize| (frame * settings.hop) as f64 / f64::from(rate);
            Ok(Sheet::new(
                vec!["seconds".to_owned()],
                beats.frames.iter().map(seconds).collect(),
            ))
        })
    }
}

/// Compute how strong each tempo is at every frame, as librosa does.
///
/// That is how similar the rises around a frame are to themselves some frames later; a column is named by
/// the tempo of its lag.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith voice tempogram song.wav --as npy --output tempogram.npy
  warpsmith voice tempogram song.wav --lags 200")]
pub(crate) struct Tempogram {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: Destination,
    #[command(flatten)]
    sizes: Sizes,
    /// Frames of the stretch that is compared with itself.
    #[arg(long, default_value_t = 384, value_parser = clap::value_parser!(u16).range(2..))]
    lags: u16,
}

impl Tempogram {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let settings = RhythmSettings {
            transform: self.sizes.transform,
            hop: self.sizes.hop,
            ..RhythmSettings::default()
        };
        self.destination.each(global, &self.input, |path| {
            let (signal, rate) = self.input.signal(path)?;
            let strength = envelope(&signal, rate, &settings, Over::Mean)?;
            let values = Lags::new(usize::from(self.lags))?.compute(&strength)?;
            let name = |lag: u16| match lag {
                0 => "inf".to_owned(),
                lag => format!("{:.3}", lag_bpm(usize::from(lag), rate, settings.hop)),
            };
            Ok(Sheet::new(
                (0..self.lags).map(name).collect(),
                values.into_iter().map(f64::from).collect(),
            ))
        })
    }
}
