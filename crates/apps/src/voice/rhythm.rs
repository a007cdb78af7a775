//! `warpsmith voice tempo|beats|tempogram`: how fast a piece is and where its beats are.

use std::path::Path;

use anyhow::Result;
use clap::Args;
use warpsmith_descriptors::rhythm::{
    Over, RhythmSettings, Tempogram as Lags, TempogramStream, envelope, find_beats_of, lag_bpm,
};
use warpsmith_voice::OnsetStream;

use super::feature::loudest;
use super::input::Input;
use super::live::Listener;
use super::recording::analyse;
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
            let (beats, rate) = analyse(&self.input, path, |recording| {
                let beats = find_beats_of(recording, &settings, None)?;
                Ok((beats, recording.sample_rate()))
            })?;
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
            let (beats, rate) = analyse(&self.input, path, |recording| {
                let beats = find_beats_of(recording, &settings, self.bpm)?;
                Ok((beats, recording.sample_rate()))
            })?;
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
        let lags = usize::from(self.lags);
        let names = |rate: u32| -> Vec<String> {
            let name = |lag: usize| match lag {
                0 => "inf".to_owned(),
                lag => format!("{:.3}", lag_bpm(lag, rate, settings.hop)),
            };
            (0..lags).map(name).collect()
        };
        let listener = |path: &Path, rate: u32| -> Result<Box<dyn Listener>> {
            let (transform, hop) = (settings.transform, settings.hop);
            let first = OnsetStream::first_look(rate, transform, hop)?;
            let largest = loudest(&self.input, path, rate, first)?;
            Ok(Box::new(LiveTempogram {
                onsets: OnsetStream::second_look(rate, transform, hop, largest)?,
                strength: Vec::new(),
                tempogram: TempogramStream::new(lags)?,
                names: names(rate),
            }))
        };
        self.destination
            .each_or_in_pieces(global, &self.input, Some(&listener), |path| {
                let (signal, rate) = self.input.signal(path)?;
                let strength = envelope(&signal, rate, &settings, Over::Mean)?;
                let values = Lags::new(lags)?.compute(&strength)?;
                Ok(Sheet::new(
                    names(rate),
                    values.into_iter().map(f64::from).collect(),
                ))
            })
    }
}

/// A long file, frame by frame.
struct LiveTempogram {
    onsets: OnsetStream,
    strength: Vec<f32>,
    tempogram: TempogramStream,
    names: Vec<String>,
}

impl Listener for LiveTempogram {
    fn columns(&self) -> Vec<String> {
        self.names.clone()
    }

    fn hear(&mut self, piece: &[f32], rows: &mut Vec<f64>) -> Result<()> {
        self.onsets.process(piece, &mut self.strength)?;
        self.tempogram.process(&self.strength, |row| {
            rows.extend(row.iter().copied().map(f64::from));
        });
        self.strength.clear();
        Ok(())
    }

    fn finish(self: Box<Self>, rows: &mut Vec<f64>) -> Result<()> {
        let Self {
            onsets,
            mut strength,
            mut tempogram,
            ..
        } = *self;
        let mut take = |row: &[f32]| rows.extend(row.iter().copied().map(f64::from));
        onsets.finish(&mut strength)?;
        tempogram.process(&strength, &mut take);
        tempogram.finish(take);
        Ok(())
    }
}
