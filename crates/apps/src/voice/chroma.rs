//! `warpsmith voice chroma`: the power of pitch classes, whatever the octave.

use anyhow::Result;
use clap::Args;
use warpsmith_voice::{
    Chroma as Classes, PITCH_CLASSES, Preset, Sizes, SpectrumSettings, Stage, chroma_on_cuda,
};

use super::constant_q::by_frames;
use super::device::Task;
use super::input::Input;
use super::sheet::{Destination, Sheet};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;

const NAMES: [&str; PITCH_CLASSES] = [
    "C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B",
];

/// Compute the power of the twelve pitch classes, as librosa does: the strongest of a frame is 1.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith voice chroma song.wav --as npy --output chroma.npy
  warpsmith voice chroma song.wav --transform 1024 --hop 512
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
}

impl Chroma {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        Task {
            workload: "voice/chroma",
            input: &self.input,
            destination: &self.destination,
            fits: true,
            listener: None,
            rate: None,
        }
        .write_sheets(
            global,
            |signal, rate| {
                let classes = Classes::new(self.spectrum(rate), rate)?.compute(signal)?;
                Ok(sheet(&by_frames(&classes, PITCH_CLASSES)))
            },
            |gpu, rate, signals| {
                let found = chroma_on_cuda(gpu, &self.spectrum(rate), rate, signals)?;
                Ok(found.iter().map(|classes| sheet(classes)).collect())
            },
        )
    }

    fn spectrum(&self, rate: u32) -> SpectrumSettings {
        let speech = Sizes::for_speech(rate);
        let sizes = Sizes {
            transform: self.transform,
            hop: self.hop.unwrap_or(speech.hop),
            ..speech
        };
        Preset::Librosa.feature(rate, sizes, Stage::Mel).spectrum
    }
}

fn sheet(classes: &[f32]) -> Sheet {
    Sheet::new(
        NAMES.map(str::to_owned).to_vec(),
        classes.iter().map(|power| f64::from(*power)).collect(),
    )
}
