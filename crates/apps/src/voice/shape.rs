//! `warpsmith voice shape`: spectra in a few numbers.

use std::path::Path;

use anyhow::Result;
use clap::Args;
use warpsmith_voice::{
    ContrastSettings, ContrastStream, LoudestLevels, Preset, SpectralContrast, SpectralShape,
    SpectralStatistics, SpectrumSettings, Stage, StatisticsStream, contrast_on_cuda,
    statistics_on_cuda,
};
use warpsmith_workload::WorkloadError;

use super::device::Task;
use super::frame_sizes::FrameSizes;
use super::input::Input;
use super::live::{Listener, hear_ahead};
use super::sheet::{Destination, Sheet, by_frames};
use super::spectrum_options::SpectrumOptions;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;

/// Compute the spectrum's centroid, bandwidth, roll-off, flatness and contrast.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith voice shape speech.wav --as csv
  warpsmith voice shape song.wav --like librosa
  warpsmith voice shape song.wav --transform 1024 --hop 256 --rolloff 0.95 --contrast-octaves 4
  warpsmith voice shape *.wav --output shapes --device cuda")]
pub(crate) struct Shape {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: Destination,
    #[command(flatten)]
    sizes: FrameSizes,
    #[command(flatten)]
    spectrum: SpectrumOptions,
    /// Share of the magnitudes below the roll-off frequency.
    #[arg(long, value_name = "SHARE", default_value_t = ROLLOFF)]
    rolloff: f32,
    /// Octaves of the contrast above its lowest band.
    #[arg(long, value_name = "COUNT", default_value_t = ContrastSettings::default().octaves)]
    contrast_octaves: usize,
    /// Upper edge of the lowest band of the contrast, Hz.
    #[arg(long, value_name = "HZ", default_value_t = ContrastSettings::default().lowest_hz)]
    contrast_low: f64,
    /// Share of a band's bins that are tops, and bottoms.
    #[arg(long, value_name = "SHARE", default_value_t = ContrastSettings::default().share)]
    contrast_share: f64,
}

/// The share of the magnitudes below the roll-off frequency, as in librosa.
const ROLLOFF: f32 = 0.85;

impl Shape {
    fn spectrum(&self, rate: u32) -> SpectrumSettings {
        let sizes = self.sizes.over(rate);
        let preset = Preset::Librosa.feature(rate, sizes, Stage::Mel);
        self.spectrum.over(preset.spectrum)
    }

    fn bands(&self) -> ContrastSettings {
        ContrastSettings {
            lowest_hz: self.contrast_low,
            octaves: self.contrast_octaves,
            share: self.contrast_share,
        }
    }

    /// Whether the kernels have these settings.
    fn fits(&self) -> bool {
        let own = (ROLLOFF, ContrastSettings::default());
        (self.rolloff, self.bands()) == own && self.spectrum.is_default()
    }

    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        // Settings are refused before any file is read.
        self.bands().checked()?;
        let plain = |spectrum| SpectralShape::new(spectrum, 16_000)?.with_rolloff(self.rolloff);
        plain(self.spectrum(16_000))?;
        let listener = |path: &Path, rate: u32| {
            self.sizes.explain(global, rate);
            LiveShape::listener(&self.input, path, rate, self)
        };
        Task {
            workload: "voice/contrast",
            input: &self.input,
            destination: &self.destination,
            fits: self.fits(),
            listener: Some(&listener),
            rate: None,
        }
        .write_sheets(
            global,
            |signal, rate| {
                self.sizes.explain(global, rate);
                let (spectrum, bands) = (self.spectrum(rate), self.bands());
                let shape = SpectralShape::new(spectrum, rate)?;
                let shape = shape.with_rolloff(self.rolloff)?.measure(signal);
                // Contrast needs octaves up to its highest, 6.4 kHz by default; a signal without them has none.
                let contrast = match SpectralContrast::with_bands(spectrum, rate, bands) {
                    Ok(mut contrast) => by_frames(&contrast.compute(signal)?, bands.bands()),
                    Err(_) => Vec::new(),
                };
                Ok(sheet_of(&shape, &contrast, bands.bands()))
            },
            |gpu, rate, signals| {
                if !self.fits() {
                    return Err(WorkloadError::Unsupported {
                        workload: "voice/contrast",
                        reason: "settings other than librosa's".to_owned(),
                    });
                }
                let (spectrum, bands) = (self.spectrum(rate), self.bands().bands());
                let shapes = statistics_on_cuda(gpu, &spectrum, rate, signals)?;
                let contrasts = match SpectralContrast::new(spectrum, rate) {
                    Ok(_) => contrast_on_cuda(gpu, &spectrum, rate, signals)?,
                    Err(_) => vec![Vec::new(); signals.len()],
                };
                let found = shapes.iter().zip(&contrasts);
                Ok(found
                    .map(|(shape, contrast)| sheet_of(shape, contrast, bands))
                    .collect())
            },
        )
    }
}

/// The names of the columns.
fn names(bands: Option<usize>) -> Vec<String> {
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
    names.extend((0..bands.unwrap_or(0)).map(|band| format!("contrast{band}_db")));
    names
}

/// A frame's statistics and its contrast, `[frame, band]`, in a row.
fn rows_of(shape: &SpectralStatistics, contrast: &[f32], bands: usize, rows: &mut Vec<f64>) {
    let statistics = [
        &shape.centroid,
        &shape.bandwidth,
        &shape.rolloff,
        &shape.flatness,
        &shape.entropy,
        &shape.flux,
        &shape.slope,
    ];
    let mut bands = contrast.chunks_exact(bands);
    for frame in 0..shape.centroid.len() {
        rows.extend(statistics.iter().map(|row| f64::from(row[frame])));
        let bands = bands.next().unwrap_or_default();
        rows.extend(bands.iter().map(|db| f64::from(*db)));
    }
}

fn sheet_of(shape: &SpectralStatistics, contrast: &[f32], bands: usize) -> Sheet {
    let mut values = Vec::new();
    rows_of(shape, contrast, bands, &mut values);
    Sheet::new(names((!contrast.is_empty()).then_some(bands)), values)
}

/// The numbers of a long file piece by piece; contrast depends on the loudest, which a first look finds.
struct LiveShape {
    statistics: StatisticsStream,
    shape: SpectralStatistics,
    contrast: Option<(ContrastStream, LoudestLevels)>,
    /// Bands of a frame, and their values.
    width: usize,
    bands: Vec<f32>,
}

impl LiveShape {
    fn listener(
        input: &Input,
        path: &Path,
        rate: u32,
        wanted: &Shape,
    ) -> Result<Box<dyn Listener>> {
        let (spectrum, bands) = (wanted.spectrum(rate), wanted.bands());
        let contrast = match ContrastStream::new(spectrum, rate, bands) {
            Ok(mut first_look) => {
                let mut loudest = LoudestLevels::default();
                hear_ahead(input, path, |piece, _| {
                    Ok(first_look.look(piece, &mut loudest)?)
                })?;
                first_look.finish_look(&mut loudest)?;
                Some((ContrastStream::new(spectrum, rate, bands)?, loudest))
            }
            Err(_) => None,
        };
        Ok(Box::new(Self {
            statistics: StatisticsStream::in_bulk(spectrum, rate)?.with_rolloff(wanted.rolloff)?,
            shape: SpectralStatistics::default(),
            contrast,
            width: bands.bands(),
            bands: Vec::new(),
        }))
    }
}

impl Listener for LiveShape {
    fn columns(&self) -> Vec<String> {
        names(self.contrast.as_ref().map(|(contrast, _)| contrast.bands()))
    }

    fn hear(&mut self, piece: &[f32], rows: &mut Vec<f64>) -> Result<()> {
        self.statistics.process(piece, &mut self.shape);
        if let Some((contrast, loudest)) = &mut self.contrast {
            contrast.process(piece, *loudest, &mut self.bands)?;
        }
        rows_of(&self.shape, &self.bands, self.width, rows);
        self.shape = SpectralStatistics::default();
        self.bands.clear();
        Ok(())
    }

    fn finish(mut self: Box<Self>, rows: &mut Vec<f64>) -> Result<()> {
        self.statistics.finish(&mut self.shape);
        if let Some((contrast, loudest)) = self.contrast {
            contrast.finish(loudest, &mut self.bands)?;
        }
        rows_of(&self.shape, &self.bands, self.width, rows);
        Ok(())
    }
}
