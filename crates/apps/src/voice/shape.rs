//! `warpsmith voice shape`: spectra in a few numbers.

use std::path::Path;

use anyhow::Result;
use clap::Args;
use warpsmith_voice::{
    CONTRAST_BANDS, ContrastStream, LoudestLevels, Preset, Sizes, SpectralContrast, SpectralShape,
    SpectralStatistics, SpectrumSettings, Stage, StatisticsStream, contrast_on_cuda,
    statistics_on_cuda,
};

use super::device::Task;
use super::input::Input;
use super::live::{Listener, hear_ahead};
use super::sheet::{Destination, Sheet, by_frames};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;

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

/// The spectra that are described.
fn spectrum(rate: u32) -> SpectrumSettings {
    let sizes = Sizes::for_speech(rate);
    Preset::Librosa.feature(rate, sizes, Stage::Mel).spectrum
}

impl Shape {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let listener = |path: &Path, rate: u32| LiveShape::listener(&self.input, path, rate);
        Task {
            workload: "voice/contrast",
            input: &self.input,
            destination: &self.destination,
            fits: true,
            listener: Some(&listener),
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
                Ok(sheet_of(&shape, &contrast))
            },
            |gpu, rate, signals| {
                let spectrum = spectrum(rate);
                let shapes = statistics_on_cuda(gpu, &spectrum, rate, signals)?;
                let contrasts = match SpectralContrast::new(spectrum, rate) {
                    Ok(_) => contrast_on_cuda(gpu, &spectrum, rate, signals)?,
                    Err(_) => vec![Vec::new(); signals.len()],
                };
                let found = shapes.iter().zip(&contrasts);
                Ok(found
                    .map(|(shape, contrast)| sheet_of(shape, contrast))
                    .collect())
            },
        )
    }
}

/// The names of the columns.
fn names(with_contrast: bool) -> Vec<String> {
    let statistics = [
        "centroid_hz",
        "bandwidth_hz",
        "rolloff_hz",
        "flatness",
        "entropy",
        "flux",
        "slope_per_hz",
    ];
    let mut names = statistics.map(str::to_owned).to_vec();
    if with_contrast {
        names.extend((0..CONTRAST_BANDS).map(|band| format!("contrast{band}_db")));
    }
    names
}

/// A frame's statistics and its contrast, `[frame, band]`, in a row.
fn rows_of(shape: &SpectralStatistics, contrast: &[f32], rows: &mut Vec<f64>) {
    let statistics = [
        &shape.centroid,
        &shape.bandwidth,
        &shape.rolloff,
        &shape.flatness,
        &shape.entropy,
        &shape.flux,
        &shape.slope,
    ];
    let mut bands = contrast.chunks_exact(CONTRAST_BANDS);
    for frame in 0..shape.centroid.len() {
        rows.extend(statistics.iter().map(|row| f64::from(row[frame])));
        let bands = bands.next().unwrap_or_default();
        rows.extend(bands.iter().map(|db| f64::from(*db)));
    }
}

fn sheet_of(shape: &SpectralStatistics, contrast: &[f32]) -> Sheet {
    let mut values = Vec::new();
    rows_of(shape, contrast, &mut values);
    Sheet::new(names(!contrast.is_empty()), values)
}

/// The numbers of a long file piece by piece; contrast depends on the loudest, which a first look finds.
struct LiveShape {
    statistics: StatisticsStream,
    shape: SpectralStatistics,
    contrast: Option<(ContrastStream, LoudestLevels)>,
    bands: Vec<f32>,
}

impl LiveShape {
    fn listener(input: &Input, path: &Path, rate: u32) -> Result<Box<dyn Listener>> {
        let spectrum = spectrum(rate);
        let contrast = match ContrastStream::new(spectrum, rate) {
            Ok(mut first_look) => {
                let mut loudest = LoudestLevels::default();
                hear_ahead(input, path, |piece, _| {
                    Ok(first_look.look(piece, &mut loudest)?)
                })?;
                first_look.finish_look(&mut loudest)?;
                Some((ContrastStream::new(spectrum, rate)?, loudest))
            }
            Err(_) => None,
        };
        Ok(Box::new(Self {
            statistics: StatisticsStream::in_bulk(spectrum, rate)?,
            shape: SpectralStatistics::default(),
            contrast,
            bands: Vec::new(),
        }))
    }
}

impl Listener for LiveShape {
    fn columns(&self) -> Vec<String> {
        names(self.contrast.is_some())
    }

    fn hear(&mut self, piece: &[f32], rows: &mut Vec<f64>) -> Result<()> {
        self.statistics.process(piece, &mut self.shape);
        if let Some((contrast, loudest)) = &mut self.contrast {
            contrast.process(piece, *loudest, &mut self.bands)?;
        }
        rows_of(&self.shape, &self.bands, rows);
        self.shape = SpectralStatistics::default();
        self.bands.clear();
        Ok(())
    }

    fn finish(mut self: Box<Self>, rows: &mut Vec<f64>) -> Result<()> {
        self.statistics.finish(&mut self.shape);
        if let Some((contrast, loudest)) = self.contrast {
            contrast.finish(loudest, &mut self.bands)?;
        }
        rows_of(&self.shape, &self.bands, rows);
        Ok(())
    }
}
