//! `warpsmith voice onsets`: where sounds begin.

use anyhow::Result;
use clap::Args;
use warpsmith_voice::{OnsetDetector, Sizes, onset_frames, onset_strength_on_cuda};

use super::device::Task;
use super::input::Input;
use super::sheet::{Destination, Sheet};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;

/// List where sounds begin, as librosa finds them, or how much the level rises in every frame.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith voice onsets song.wav
  warpsmith voice onsets song.wav --frames --as npy --output strength.npy
  warpsmith voice onsets *.wav --output onsets --device cuda")]
pub(crate) struct Onsets {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: Destination,
    /// Write every frame, with whether a sound begins there.
    #[arg(long)]
    frames: bool,
    /// Points of the transform; default: the power of two from 32 ms on.
    #[arg(long)]
    transform: Option<usize>,
    /// Samples between frames; default: 10 ms.
    #[arg(long)]
    hop: Option<usize>,
}

impl Onsets {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        Task {
            workload: "voice/onset",
            input: &self.input,
            destination: &self.destination,
            fits: true,
            listener: None,
            rate: None,
        }
        .write_sheets(
            global,
            |signal, rate| {
                let (transform, hop) = self.sizes(rate);
                let strength = OnsetDetector::new(rate, transform, hop)?.strength(signal)?;
                Ok(self.sheet(rate, &strength))
            },
            |gpu, rate, signals| {
                let (transform, hop) = self.sizes(rate);
                let found = onset_strength_on_cuda(gpu, rate, transform, hop, signals)?;
                let sheets = found.iter();
                Ok(sheets.map(|strength| self.sheet(rate, strength)).collect())
            },
        )
    }

    /// Points of the transform, and samples between frames.
    fn sizes(&self, rate: u32) -> (usize, usize) {
        let speech = Sizes::for_speech(rate);
        let transform = self.transform.unwrap_or(speech.transform);
        (transform, self.hop.unwrap_or(speech.hop))
    }

    fn sheet(&self, rate: u32, strength: &[f32]) -> Sheet {
        let (_, hop) = self.sizes(rate);
        let seconds = |frame: usize| (frame * hop) as f64 / f64::from(rate);
        let onsets = onset_frames(strength, rate, hop);
        let row = |frame: usize| [seconds(frame), f64::from(strength[frame])];
        let mut columns = vec!["seconds".to_owned(), "strength".to_owned()];
        let values = if self.frames {
            columns.push("onset".to_owned());
            let mut begins = vec![0.0; strength.len()];
            onsets.iter().for_each(|frame| begins[*frame] = 1.0);
            let rows = begins.into_iter().enumerate();
            rows.flat_map(|(frame, begins)| [row(frame)[0], row(frame)[1], begins])
                .collect()
        } else {
            onsets.into_iter().flat_map(row).collect()
        };
        Sheet::new(columns, values)
    }
}
