//! `warpsmith voice chroma`: the power of pitch classes, whatever the octave.

use std::path::Path;

use anyhow::Result;
use clap::Args;
use warpsmith_voice::{
    Chroma as Classes, Density, PITCH_CLASSES, Preset, Sizes, SpectrumSettings, Stage,
    chroma_on_cuda, estimate_tuning, estimate_tuning_of,
};
use warpsmith_workload::WorkloadError;

use super::device::Task;
use super::frame_sizes::Peer;
use super::input::Input;
use super::live::{Framewise, Listening};
use super::recording::analyse;
use super::sheet::{Destination, Sheet, append_by_frames, by_frames};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output::note;

const NAMES: [&str; PITCH_CLASSES] = [
    "C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B",
];

/// Compute the power of the twelve pitch classes, as librosa does: the strongest of a frame is 1.
///
/// librosa estimates the tuning unless told otherwise: `--like librosa`.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith voice chroma song.wav --as npy --output chroma.npy
  warpsmith voice chroma song.wav --transform 1024 --hop 512
  warpsmith voice chroma song.wav --tuning auto
  warpsmith voice chroma song.wav --like librosa
  warpsmith voice chroma *.wav --output classes --device cuda")]
pub(crate) struct Chroma {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: Destination,
    /// Points of the transform.
    #[arg(long, default_value_t = 2048)]
    transform: usize,
    /// Samples between frames; default: 10 ms.
    #[arg(long)]
    hop: Option<usize>,
    /// Semitones that the music is tuned above A4 = 440 Hz, or `auto` to estimate them; a note says them;
    /// default: 0, with `--like librosa` auto.
    #[arg(long, value_name = "SEMITONES", allow_negative_numbers = true)]
    tuning: Option<Tuning>,
    /// Take librosa's hop of 512 samples and its estimate of the tuning where nothing else is given; a note says them.
    #[arg(long, value_enum, value_name = "PEER")]
    like: Option<Peer>,
}

/// How music is tuned.
#[derive(Clone, Copy, PartialEq)]
enum Tuning {
    Auto,
    Semitones(f64),
}

impl std::str::FromStr for Tuning {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        match text.parse::<f64>() {
            Ok(semitones) if (-12.0..=12.0).contains(&semitones) => Ok(Self::Semitones(semitones)),
            _ => Err("`auto` or semitones from -12 to 12".to_owned()),
        }
    }
}

impl Chroma {
    /// The tuning that is wanted.
    fn tuning(&self) -> Tuning {
        self.tuning.unwrap_or(match self.like {
            Some(Peer::Librosa) => Tuning::Auto,
            None => Tuning::Semitones(0.0),
        })
    }

    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        if self.like.is_some() {
            let framing = self.spectrum(16_000).framing;
            let tuning = match self.tuning() {
                Tuning::Auto => "estimated".to_owned(),
                Tuning::Semitones(semitones) => format!("{semitones}"),
            };
            note(
                global,
                &format!(
                    "note: like librosa: {} points, hop {}, tuning {tuning}",
                    framing.length, framing.hop
                ),
            );
        }
        let listener = |path: &Path, rate: u32| {
            let spectrum = self.spectrum(rate);
            let tuning = match self.tuning() {
                Tuning::Semitones(semitones) => semitones,
                Tuning::Auto => analyse(&self.input, path, |recording| {
                    let tuning = estimate_tuning_of(recording, Density::Power, spectrum)?;
                    say_tuning(global, tuning);
                    Ok(tuning)
                })?,
            };
            let names = NAMES.map(str::to_owned).to_vec();
            Framewise::listener(spectrum.framing, names, |framing| {
                let inside = SpectrumSettings {
                    framing,
                    ..spectrum
                };
                let mut classes = Classes::tuned(inside, rate, tuning)?;
                Ok(move |samples: &[f32], rows: &mut Vec<f64>| {
                    append_by_frames(&classes.compute(samples)?, PITCH_CLASSES, rows);
                    Ok(())
                })
            })
        };
        let listener: Listening<'_> = &listener;
        Task {
            workload: "voice/chroma",
            input: &self.input,
            destination: &self.destination,
            fits: self.tuning() == Tuning::Semitones(0.0),
            listener: Some(listener),
            rate: None,
        }
        .write_sheets(
            global,
            |signal, rate| {
                let spectrum = self.spectrum(rate);
                let tuning = match self.tuning() {
                    Tuning::Semitones(semitones) => semitones,
                    Tuning::Auto => {
                        let tuning = estimate_tuning(signal, spectrum, rate)?;
                        say_tuning(global, tuning);
                        tuning
                    }
                };
                let classes = Classes::tuned(spectrum, rate, tuning)?.compute(signal)?;
                Ok(sheet(&by_frames(&classes, PITCH_CLASSES)))
            },
            |gpu, rate, signals| {
                if self.tuning() != Tuning::Semitones(0.0) {
                    return Err(WorkloadError::Unsupported {
                        workload: "voice/chroma",
                        reason: "a tuning; the kernel takes A4 = 440 Hz".to_owned(),
                    });
                }
                let found = chroma_on_cuda(gpu, &self.spectrum(rate), rate, signals)?;
                Ok(found.iter().map(|classes| sheet(classes)).collect())
            },
        )
    }

    fn spectrum(&self, rate: u32) -> SpectrumSettings {
        let speech = Sizes::for_speech(rate);
        let sizes = Sizes {
            transform: self.transform,
            hop: self.hop.unwrap_or(match self.like {
                Some(Peer::Librosa) => Preset::Librosa.own_sizes(rate).hop,
                None => speech.hop,
            }),
            ..speech
        };
        Preset::Librosa.feature(rate, sizes, Stage::Mel).spectrum
    }
}

fn say_tuning(global: &Global, tuning: f64) {
    let said = format!("note: tuned {tuning:+.2} semitones from A4 = 440 Hz");
    note(global, &said);
}

fn sheet(classes: &[f32]) -> Sheet {
    Sheet::new(
        NAMES.map(str::to_owned).to_vec(),
        classes.iter().map(|power| f64::from(*power)).collect(),
    )
}
