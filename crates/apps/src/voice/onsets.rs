//! `warpsmith voice onsets`: where sounds begin.

use std::path::Path;

use anyhow::Result;
use clap::Args;
use warpsmith_voice::{OnsetDetector, OnsetStream, Sizes, onset_frames, onset_strength_on_cuda};

use super::device::Task;
use super::feature::loudest;
use super::frame_sizes::FrameSizes;
use super::input::Input;
use super::live::Listener;
use super::sheet::{Destination, Sheet};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;

/// List where sounds begin, as librosa finds them, or how much the level rises in every frame.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith voice onsets song.wav
  warpsmith voice onsets song.wav --frames --as npy --output strength.npy
  warpsmith voice onsets song.wav --like librosa
  warpsmith voice onsets *.wav --output onsets --device cuda")]
pub(crate) struct Onsets {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: Destination,
    /// Write every frame, with whether a sound begins there.
    #[arg(long)]
    frames: bool,
    #[command(flatten)]
    sizes: FrameSizes,
}

impl Onsets {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let listener = |path: &Path, rate: u32| -> Result<Box<dyn Listener>> {
            self.sizes.explain(global, rate);
            let (transform, hop) = self.sizes(rate);
            let first = OnsetStream::first_look(rate, transform, hop)?;
            let largest = loudest(&self.input, path, rate, first)?;
            Ok(Box::new(LiveOnsets {
                stream: OnsetStream::second_look(rate, transform, hop, largest)?,
                strength: Vec::new(),
                form: self.form(rate),
            }))
        };
        Task {
            workload: "voice/onset",
            input: &self.input,
            destination: &self.destination,
            fits: true,
            listener: Some(&listener),
            rate: None,
        }
        .write_sheets(
            global,
            |signal, rate| {
                self.sizes.explain(global, rate);
                let (transform, hop) = self.sizes(rate);
                let strength = OnsetDetector::new(rate, transform, hop)?.strength(signal)?;
                Ok(self.form(rate).sheet(&strength))
            },
            |gpu, rate, signals| {
                let (transform, hop) = self.sizes(rate);
                let found = onset_strength_on_cuda(gpu, rate, transform, hop, signals)?;
                let sheets = found.iter();
                Ok(sheets
                    .map(|strength| self.form(rate).sheet(strength))
                    .collect())
            },
        )
    }

    /// Points of the transform, and samples between frames.
    fn sizes(&self, rate: u32) -> (usize, usize) {
        let Sizes { transform, hop, .. } = self.sizes.over(rate);
        (transform, hop)
    }

    fn form(&self, rate: u32) -> Form {
        Form {
            rate,
            hop: self.sizes(rate).1,
            frames: self.frames,
        }
    }
}

/// What is written of the strengths.
#[derive(Clone, Copy)]
struct Form {
    rate: u32,
    hop: usize,
    /// Every frame, or onsets alone.
    frames: bool,
}

impl Form {
    fn columns(self) -> Vec<String> {
        let names = ["seconds", "strength", "onset"];
        let count = if self.frames { 3 } else { 2 };
        names[..count].iter().map(|&name| name.to_owned()).collect()
    }

    fn sheet(self, strength: &[f32]) -> Sheet {
        let Self { rate, hop, .. } = self;
        let seconds = |frame: usize| (frame * hop) as f64 / f64::from(rate);
        let onsets = onset_frames(strength, rate, hop);
        let row = |frame: usize| [seconds(frame), f64::from(strength[frame])];
        let values = if self.frames {
            let mut begins = vec![0.0; strength.len()];
            onsets.iter().for_each(|frame| begins[*frame] = 1.0);
            let rows = begins.into_iter().enumerate();
            rows.flat_map(|(frame, begins)| [row(frame)[0], row(frame)[1], begins])
                .collect()
        } else {
            onsets.into_iter().flat_map(row).collect()
        };
        Sheet::new(self.columns(), values)
    }
}

/// Onsets of a file that is heard twice: strengths are kept, levels are not.
struct LiveOnsets {
    stream: OnsetStream,
    strength: Vec<f32>,
    form: Form,
}

impl Listener for LiveOnsets {
    fn columns(&self) -> Vec<String> {
        self.form.columns()
    }

    fn hear(&mut self, piece: &[f32], _: &mut Vec<f64>) -> Result<()> {
        Ok(self.stream.process(piece, &mut self.strength)?)
    }

    fn finish(self: Box<Self>, rows: &mut Vec<f64>) -> Result<()> {
        let Self {
            stream,
            mut strength,
            form,
        } = *self;
        stream.finish(&mut strength)?;
        rows.extend(form.sheet(&strength).values);
        Ok(())
    }
}
