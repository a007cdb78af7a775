//! Spectra and what is made of them.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use warpsmith_voice::signal::zeros;
use warpsmith_voice::{
    Chroma, ConstantQ, Density, Derivative, FeatureSettings, Istft, Layout, MelBank, MelFeature,
    PITCH_CLASSES, Preset, SignalError, Sizes, SpectrumSettings, Stage, Stft, check_room,
};

use super::array::Values;
use super::plans::Plans;
use super::settings::{constant_q_settings, mel_settings};
use super::{Array, Bank, Frames, Samples, refused, work};

static STFTS: Plans<SpectrumSettings, Stft> = Plans::new();
static FEATURES: Plans<FeatureSettings, MelFeature> = Plans::new();

/// Numbers to each of a transform's points: tables, and the spectra of sixteen frames.
const TABLES: usize = 64;

/// Complex spectra, or their powers or magnitudes: values, bins and frames.
#[pyfunction]
pub(crate) fn stft(
    py: Python<'_>,
    signal: Samples<'_>,
    frames: Frames,
    kind: &str,
) -> PyResult<Array> {
    let (signal, settings) = (signal.finite()?, frames.spectrum()?);
    let numbers = settings.transform.saturating_mul(TABLES);
    let density = match kind {
        "magnitude" => Some(Density::Magnitude),
        "power" => Some(Density::Power),
        _ => None,
    };
    let shape = [settings.bins(), settings.framing.count(signal.len())];
    let values = work(py, || {
        STFTS.with(
            settings,
            numbers,
            || Stft::new(settings),
            |stft| match density {
                Some(density) => {
                    stft.check_room(signal.len(), size_of::<f32>())?;
                    let mut values = zeros(shape[0] * shape[1]);
                    stft.density(signal, density, &mut values)?;
                    Ok(Values::Floats(values))
                }
                None => {
                    stft.check_room(signal.len(), size_of::<[f32; 2]>())?;
                    let mut values = zeros(shape[0] * shape[1]);
                    stft.complex(signal, &mut values)?;
                    Ok(Values::Complex(values))
                }
            },
        )
    });
    Ok(Array::of(values?, &shape))
}

/// The signal of so many samples behind spectra.
#[pyfunction]
pub(crate) fn istft(
    py: Python<'_>,
    spectra: Samples<'_>,
    frames: Frames,
    count: usize,
) -> PyResult<Array> {
    let (spectra, _) = spectra.finite()?.as_chunks::<2>();
    let settings = frames.spectrum()?;
    let signal = work(py, || {
        check_room("the signal", count, size_of::<f32>())?;
        let mut signal = zeros(count);
        Istft::new(settings)?.reconstruct(spectra, &mut signal)?;
        Ok(signal)
    });
    signal.map(Array::line)
}

/// Mel powers; with `decibels` their logarithms, within `top_db` of the largest; with `coefficients` their
/// cepstra under a lifter. Values, rows and frames.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn mel(
    py: Python<'_>,
    signal: Samples<'_>,
    rate: u32,
    frames: Frames,
    bank: Bank,
    decibels: bool,
    top_db: Option<f32>,
    coefficients: Option<usize>,
    lifter: f64,
) -> PyResult<Array> {
    let signal = signal.finite()?;
    let settings = mel_settings(rate, &frames, &bank, decibels, top_db, coefficients, lifter)?;
    feature(py, signal, settings)
}

fn feature(py: Python<'_>, signal: &[f32], settings: FeatureSettings) -> PyResult<Array> {
    let settings = settings.checked().map_err(refused)?;
    let shape = [settings.rows(), settings.frames(signal.len())];
    let tables = settings.spectrum.transform.saturating_mul(TABLES);
    let numbers = tables.saturating_add(shape[0].saturating_mul(shape[1]));
    let values = work(py, || {
        FEATURES.with(
            settings,
            numbers,
            || MelFeature::new(settings),
            |feature| feature.compute(signal),
        )
    })?;
    Ok(Array::of(values, &shape))
}

/// The weights of mel filters, filters by bins.
#[pyfunction]
pub(crate) fn mel_bank(py: Python<'_>, rate: u32, transform: usize, bank: Bank) -> PyResult<Array> {
    let bins = transform / 2 + 1;
    let weights = work(py, || {
        check_room("the filters", bank.0.saturating_mul(bins), size_of::<f32>())?;
        let bank = MelBank::new(&bank.settings(), rate, transform)?;
        let mut weights = vec![0.0; bank.filters().len() * bins];
        for (row, filter) in weights.chunks_exact_mut(bins).zip(bank.filters()) {
            row[filter.first..][..filter.weights.len()].copy_from_slice(&filter.weights);
        }
        Ok(weights)
    });
    Ok(Array::of(weights?, &[bank.0, bins]))
}

/// The one rate that a preset is defined at, where there is one.
#[pyfunction]
pub(crate) fn preset_rate(preset: &str) -> PyResult<Option<u32>> {
    let preset: Preset = preset.parse().map_err(refused)?;
    Ok(preset.sample_rate())
}

/// Mel powers, their logarithms or cepstra as a preset has them: values, rows and frames.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn preset_features(
    py: Python<'_>,
    signal: Samples<'_>,
    rate: u32,
    preset: &str,
    stage: &str,
    coefficients: usize,
    transform: Option<usize>,
    hop: Option<usize>,
    filters: Option<usize>,
) -> PyResult<Array> {
    let signal = signal.finite()?;
    let preset: Preset = preset.parse().map_err(refused)?;
    let own = preset.sizes(rate);
    let sizes = Sizes {
        transform: transform.unwrap_or(own.transform),
        hop: hop.unwrap_or(own.hop),
        filters: filters.unwrap_or(own.filters),
    };
    let stage = match stage {
        "mel" => Stage::Mel,
        "log-mel" => Stage::LogMel,
        _ => Stage::Cepstrum { coefficients },
    };
    let settings = FeatureSettings {
        layout: Layout::RowsFirst,
        ..preset.feature(rate, sizes, stage)
    };
    feature(py, signal, settings)
}

/// The derivative of every row, along its frames.
#[pyfunction]
pub(crate) fn delta(
    py: Python<'_>,
    features: Samples<'_>,
    width: usize,
    order: usize,
) -> PyResult<Array> {
    let frames = features.shape().last().copied().unwrap_or(0);
    let values = features.floats();
    let order = match order {
        1 => Derivative::First,
        2 => Derivative::Second,
        other => {
            return Err(PyValueError::new_err(format!(
                "order = {other} cannot be used: 1 and 2 are known"
            )));
        }
    };
    let moved = work(py, || warpsmith_voice::delta(values, frames, width, order));
    Ok(Array::of(moved?, features.shape()))
}

/// Constant-Q spectra: complex values, bins and frames.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn constant_q(
    py: Python<'_>,
    signal: Samples<'_>,
    rate: u32,
    hop: usize,
    lowest_hz: Option<f64>,
    bins: usize,
    per_octave: usize,
    gamma_hz: f64,
) -> PyResult<Array> {
    let signal = signal.finite()?;
    let settings = constant_q_settings(hop, lowest_hz, bins, per_octave, gamma_hz);
    let spectra = work(py, || {
        let mut analysis = ConstantQ::new(rate, settings)?;
        analysis.check_room(signal.len())?;
        Ok::<_, SignalError>(analysis.compute(signal))
    });
    let (values, frames) = spectra?;
    Ok(Array::of(values, &[bins, frames]))
}

/// The power of pitch classes, tuned so many semitones above A4 = 440 Hz.
#[pyfunction]
pub(crate) fn chroma(
    py: Python<'_>,
    signal: Samples<'_>,
    rate: u32,
    frames: Frames,
    tuning: f64,
) -> PyResult<Array> {
    let (signal, settings) = (signal.finite()?, frames.spectrum()?);
    let classes = work(py, || {
        Chroma::tuned(settings, rate, tuning)?.compute(signal)
    });
    let frames = settings.framing.count(signal.len());
    Ok(Array::of(classes?, &[PITCH_CLASSES, frames]))
}

/// Semitones between a signal's tuning and A4 = 440 Hz, by magnitudes or by powers.
#[pyfunction]
pub(crate) fn estimate_tuning(
    py: Python<'_>,
    signal: Samples<'_>,
    rate: u32,
    frames: Frames,
    magnitudes: bool,
) -> PyResult<f64> {
    let (signal, settings) = (signal.finite()?, frames.spectrum()?);
    let density = match magnitudes {
        true => Density::Magnitude,
        false => Density::Power,
    };
    work(py, || {
        warpsmith_voice::estimate_tuning_by(density, signal, settings, rate)
    })
}
