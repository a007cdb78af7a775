//! `warpsmith voice cqt` and `shape`: spectra by musical notes, and spectra in a few numbers.

use anyhow::Result;
use clap::Args;
use warpsmith_voice::{
    CONTRAST_BANDS, ConstantQ, ConstantQSettings, Preset, Sizes, SpectralContrast, SpectralShape,
    SpectralStatistics, Stage, constant_q_on_cuda, contrast_on_cuda, statistics_on_cuda,
};

use super::device::Task;
use super::input::Input;
use super::sheet::{Destination, Sheet};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;

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
}

impl Cqt {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        Task {
            workload: "voice/constant-q",
            input: &self.input,
            destination: &self.destination,
            fits: true,
            listener: None,
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
        let piano = ConstantQSettings::piano(self.hop.unwrap_or((rate as usize / 100).max(1)));
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
    Sheet::new(
        (0..settings.bins)
            .map(|bin| format!("{:.3}", settings.frequency(bin)))
            .collect(),
        spectra.map(|[re, im]| f64::from(re.hypot(im))).collect(),
    )
}

/// Compute the spectrum's centroid, bandwidth, roll-off, flatness, entropy, flux, slope and contrast.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith voice shape speech.wav --as csv
  warpsmith voice shape *.wav --output shapes --device cuda")]
pub(crate) struct Shape {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: Destination,
}

impl Shape {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let spectrum = |rate: u32| {
            let sizes = Sizes::for_speech(rate);
            Preset::Librosa.feature(rate, sizes, Stage::Mel).spectrum
        };
        Task {
            workload: "voice/contrast",
            input: &self.input,
            destination: &self.destination,
            fits: true,
            listener: None,
            rate: None,
        }
        .write_sheets(
            global,
            |signal, rate| {
                let spectrum = spectrum(rate);
                let shape = SpectralShape::new(spectrum, rate)?.measure(signal);
                // Contrast needs octaves up to 6.4 kHz; a signal without them has none.
                let contrast = match SpectralContrast::new(spectrum, rate) {
                    Ok(mut contrast) => by_frames(&contrast.compute(signal)?, CONTRAST_BANDS),
                    Err(_) => Vec::new(),
                };
                Ok(shapes(shape, &contrast))
            },
            |gpu, rate, signals| {
                let spectrum = spectrum(rate);
                let shapes_found = statistics_on_cuda(gpu, &spectrum, rate, signals)?;
                let contrasts = match SpectralContrast::new(spectrum, rate) {
                    Ok(_) => contrast_on_cuda(gpu, &spectrum, rate, signals)?,
                    Err(_) => vec![Vec::new(); signals.len()],
                };
                let found = shapes_found.into_iter().zip(&contrasts);
                Ok(found
                    .map(|(shape, contrast)| shapes(shape, contrast))
                    .collect())
            },
        )
    }
}

/// `[column, frame]` as `[frame, column]`.
pub(super) fn by_frames(values: &[f32], columns: usize) -> Vec<f32> {
    let frames = values.len() / columns;
    (0..values.len())
        .map(|at| values[at % columns * frames + at / columns])
        .collect()
}

/// A frame's statistics and its contrast, `[frame, band]`, in a row.
fn shapes(shape: SpectralStatistics, contrast: &[f32]) -> Sheet {
    let rows = [
        ("centroid_hz", shape.centroid),
        ("bandwidth_hz", shape.bandwidth),
        ("rolloff_hz", shape.rolloff),
        ("flatness", shape.flatness),
        ("entropy", shape.entropy),
        ("flux", shape.flux),
        ("slope_per_hz", shape.slope),
    ];
    let mut columns: Vec<String> = rows.iter().map(|(name, _)| (*name).to_owned()).collect();
    let mut bands = contrast.chunks_exact(CONTRAST_BANDS);
    if bands.len() > 0 {
        columns.extend((0..CONTRAST_BANDS).map(|band| format!("contrast{band}_db")));
    }
    let mut values = Vec::with_capacity(columns.len() * rows[0].1.len());
    for frame in 0..rows[0].1.len() {
        values.extend(rows.iter().map(|(_, row)| f64::from(row[frame])));
        values.extend(
            bands
                .next()
                .unwrap_or_default()
                .iter()
                .map(|db| f64::from(*db)),
        );
    }
    Sheet::new(columns, values)
}
