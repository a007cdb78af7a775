//! `warpsmith voice cqt` and `shape`: spectra by musical notes, and spectra in a few numbers.

use anyhow::Result;
use clap::Args;
use warpsmith_voice::{
    CONTRAST_BANDS, ConstantQ, ConstantQSettings, Preset, Sizes, SpectralContrast, SpectralShape,
    Stage,
};

use super::input::Input;
use super::sheet::{Destination, Sheet};
use crate::arguments::Global;
use crate::exit::Outcome;

/// Compute the magnitude of constant-Q spectra, as librosa does: a column to a note.
#[derive(Args)]
#[command(after_help = "Examples:
  warpsmith voice cqt song.wav --as npy --output cqt.npy
  warpsmith voice cqt song.wav --lowest 65.4 --bins 60 --gamma 20")]
pub(crate) struct Cqt {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: Destination,
    /// Frequency of the lowest column, Hz; C1 where absent.
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
    /// Samples between frames; 10 ms where absent.
    #[arg(long)]
    hop: Option<usize>,
}

impl Cqt {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        self.destination.each(global, &self.input, |path| {
            let (signal, rate) = self.input.signal(path)?;
            let piano = ConstantQSettings::piano(self.hop.unwrap_or((rate as usize / 100).max(1)));
            let settings = ConstantQSettings {
                lowest_hz: self.lowest.unwrap_or(piano.lowest_hz),
                bins: self.bins,
                per_octave: self.per_octave,
                gamma_hz: self.gamma,
                ..piano
            };
            let mut analysis = ConstantQ::new(rate, settings)?;
            let (spectra, frames) = analysis.compute(&signal);
            let bins = settings.bins;
            let values = (0..frames * bins)
                .map(|at| {
                    let [re, im] = spectra[at % bins * frames + at / bins];
                    f64::from(re.hypot(im))
                })
                .collect();
            Ok(Sheet {
                columns: analysis
                    .frequencies()
                    .iter()
                    .map(|hertz| format!("{hertz:.3}"))
                    .collect(),
                values,
            })
        })?;
        Ok(Outcome::Fine)
    }
}

/// Compute the spectrum's centroid, bandwidth, roll-off, flatness, entropy, flux, slope and contrast.
#[derive(Args)]
#[command(after_help = "Example:\n  warpsmith voice shape speech.wav --as csv")]
pub(crate) struct Shape {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: Destination,
}

impl Shape {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        self.destination.each(global, &self.input, |path| {
            let (signal, rate) = self.input.signal(path)?;
            let sizes = Sizes::for_speech(rate);
            let spectrum = Preset::Librosa.feature(rate, sizes, Stage::Mel).spectrum;
            let shape = SpectralShape::new(spectrum, rate)?.measure(&signal);
            let mut columns: Vec<(String, Vec<f32>)> = [
                ("centroid_hz", shape.centroid),
                ("bandwidth_hz", shape.bandwidth),
                ("rolloff_hz", shape.rolloff),
                ("flatness", shape.flatness),
                ("entropy", shape.entropy),
                ("flux", shape.flux),
                ("slope_per_hz", shape.slope),
            ]
            .map(|(name, values)| (name.to_owned(), values))
            .to_vec();
            // Contrast needs octaves up to 6.4 kHz; a signal without them has none.
            if let Ok(mut contrast) = SpectralContrast::new(spectrum, rate) {
                let values = contrast.compute(&signal)?;
                let frames = values.len() / CONTRAST_BANDS;
                for (band, row) in values.chunks_exact(frames.max(1)).enumerate() {
                    columns.push((format!("contrast{band}_db"), row.to_vec()));
                }
            }
            let frames = columns[0].1.len();
            let values = (0..frames)
                .flat_map(|frame| columns.iter().map(move |(_, row)| f64::from(row[frame])))
                .collect();
            Ok(Sheet {
                columns: columns.into_iter().map(|(name, _)| name).collect(),
                values,
            })
        })?;
        Ok(Outcome::Fine)
    }
}
