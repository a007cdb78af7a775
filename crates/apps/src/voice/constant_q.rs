//! `warpsmith voice cqt`: spectra by musical notes.

use std::path::Path;

use anyhow::Result;
use clap::Args;
use warpsmith_voice::{ConstantQ, ConstantQSettings, ConstantQStream, Preset, constant_q_on_cuda};

use super::device::Task;
use super::frame_sizes::Peer;
use super::input::Input;
use super::live::{Listener, Listening};
use super::sheet::{Destination, Sheet};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output::note;

/// Compute the magnitude of constant-Q spectra, as librosa does: a column to a note.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith voice cqt song.wav --as npy --output cqt.npy
  warpsmith voice cqt song.wav --lowest 65.4 --bins 60 --gamma 20
  warpsmith voice cqt *.wav --as npy --output notes --device cuda")]
pub(crate) struct Cqt {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: Destination,
    /// Frequency of the lowest column, Hz; default: C1.
    #[arg(long)]
    lowest: Option<f64>,
    /// Columns.
    #[arg(long, default_value_t = 84)]
    bins: usize,
    /// Columns to an octave.
    #[arg(long, default_value_t = 12)]
    per_octave: usize,
    /// Hz that every band is widened by: above 0 low notes are quicker and less sharp (variable Q).
    #[arg(long, default_value_t = 0.0)]
    gamma: f64,
    /// Samples between frames; default: 10 ms.
    #[arg(long)]
    hop: Option<usize>,
    /// Take librosa's hop of 512 samples where none is given; a note says it.
    #[arg(long, value_enum, value_name = "PEER")]
    like: Option<Peer>,
}

impl Cqt {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        if self.like.is_some() {
            let settings = self.settings(16_000);
            note(global, &format!("note: like librosa: hop {}", settings.hop));
        }
        let listener = |_: &Path, rate: u32| -> Result<Box<dyn Listener>> {
            let settings = self.settings(rate);
            Ok(Box::new(LiveCqt {
                stream: ConstantQStream::new(rate, settings)?,
                settings,
                spectra: Vec::new(),
            }))
        };
        let listener: Listening<'_> = &listener;
        Task {
            workload: "voice/constant-q",
            input: &self.input,
            destination: &self.destination,
            fits: true,
            listener: Some(listener),
            rate: None,
        }
        .write_sheets(
            global,
            |signal, rate| {
                let settings = self.settings(rate);
                let mut analysis = ConstantQ::new(rate, settings)?;
                analysis.check_room(signal.len())?;
                let (spectra, frames) = analysis.compute(signal);
                let bins = settings.bins;
                let by_frames =
                    (0..frames * bins).map(|at| spectra[at % bins * frames + at / bins]);
                Ok(notes(&settings, by_frames))
            },
            |gpu, rate, signals| {
                let settings = self.settings(rate);
                let found = constant_q_on_cuda(gpu, rate, settings, signals)?;
                let sheets = found.into_iter();
                Ok(sheets
                    .map(|spectra| notes(&settings, spectra.into_iter()))
                    .collect())
            },
        )
    }

    fn settings(&self, rate: u32) -> ConstantQSettings {
        let piano = ConstantQSettings::piano(self.hop.unwrap_or(match self.like {
            Some(Peer::Librosa) => Preset::Librosa.own_sizes(rate).hop,
            None => (rate as usize / 100).max(1),
        }));
        ConstantQSettings {
            lowest_hz: self.lowest.unwrap_or(piano.lowest_hz),
            bins: self.bins,
            per_octave: self.per_octave,
            gamma_hz: self.gamma,
            ..piano
        }
    }
}

/// Rows of magnitudes, named by their frequencies.
fn notes(settings: &ConstantQSettings, spectra: impl Iterator<Item = [f32; 2]>) -> Sheet {
    Sheet::new(names(settings), spectra.map(magnitude).collect())
}

fn names(settings: &ConstantQSettings) -> Vec<String> {
    (0..settings.bins)
        .map(|bin| format!("{:.3}", settings.frequency(bin)))
        .collect()
}

fn magnitude([re, im]: [f32; 2]) -> f64 {
    f64::from(re.hypot(im))
}

/// A long file, stretch by stretch.
struct LiveCqt {
    stream: ConstantQStream,
    settings: ConstantQSettings,
    spectra: Vec<[f32; 2]>,
}

impl Listener for LiveCqt {
    fn columns(&self) -> Vec<String> {
        names(&self.settings)
    }

    fn hear(&mut self, piece: &[f32], rows: &mut Vec<f64>) -> Result<()> {
        self.stream.process(piece, &mut self.spectra);
        rows.extend(self.spectra.drain(..).map(magnitude));
        Ok(())
    }

    fn finish(self: Box<Self>, rows: &mut Vec<f64>) -> Result<()> {
        let mut spectra = self.spectra;
        self.stream.finish(&mut spectra);
        rows.extend(spectra.into_iter().map(magnitude));
        Ok(())
    }
}
