//! Spectra and what is made of them.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use warpsmith_voice::{
    CepstrumSettings, Chroma, Compression, ConstantQ, ConstantQSettings, Density, Derivative,
    FeatureSettings, Istft, Layout, Lifter, MelBank, MelFeature, MelNorm, MelScale, MelSettings,
    MelSlope, Preset, SignalError, Sizes, Stage, Stft, check_room,
};

use super::{Frames, bytes, complex, floats, refused, samples};

/// Values with the numbers of their rows and columns.
type Matrix<'py> = (Bound<'py, PyByteArray>, usize, usize);

/// Complex spectra, or their powers or magnitudes: values, bins and frames.
#[pyfunction]
pub(crate) fn stft<'py>(
    py: Python<'py>,
    signal: &[u8],
    frames: Frames,
    kind: &str,
) -> PyResult<Matrix<'py>> {
    let (signal, settings) = (samples(signal)?, frames.spectrum()?);
    let mut stft = Stft::new(settings).map_err(refused)?;
    let (bins, count) = stft.shape(signal.len());
    // Once here and once in Python.
    stft.check_room(signal.len(), 2 * size_of::<[f32; 2]>())
        .map_err(refused)?;
    let density = match kind {
        "magnitude" => Density::Magnitude,
        "power" => Density::Power,
        _ => {
            let mut values = vec![[0.0; 2]; bins * count];
            py.detach(|| stft.complex(&signal, &mut values))
                .map_err(refused)?;
            return Ok((complex(py, &values), bins, count));
        }
    };
    let mut values = vec![0.0; bins * count];
    py.detach(|| stft.density(&signal, density, &mut values))
        .map_err(refused)?;
    Ok((bytes(py, &values), bins, count))
}

/// The signal of so many samples behind spectra.
#[pyfunction]
pub(crate) fn istft<'py>(
    py: Python<'py>,
    spectra: &[u8],
    frames: Frames,
    count: usize,
) -> PyResult<Bound<'py, PyByteArray>> {
    let parts = samples(spectra)?;
    let (spectra, _) = parts.as_chunks::<2>();
    let settings = frames.spectrum()?;
    let signal = py.detach(|| {
        check_room("the signal", count, size_of::<f32>())?;
        let mut signal = vec![0.0; count];
        Istft::new(settings)?.reconstruct(spectra, &mut signal)?;
        Ok(signal)
    });
    Ok(bytes(py, &signal.map_err(refused)?))
}

/// Filters as Python names them: `n_mels`, `fmin`, `fmax`, `htk`, and whether `norm` is Slaney's.
#[derive(FromPyObject)]
pub(crate) struct Bank(usize, f64, Option<f64>, bool, bool);

impl Bank {
    fn settings(&self) -> MelSettings {
        let Self(filters, low_hz, high_hz, htk, area) = *self;
        MelSettings {
            filters,
            low_hz,
            high_hz,
            scale: if htk { MelScale::Htk } else { MelScale::Slaney },
            norm: if area { MelNorm::Area } else { MelNorm::Peak },
            slope: MelSlope::Hertz,
        }
    }
}

/// Mel powers; with `decibels` their logarithms, within `top_db` of the largest; with `coefficients` their
/// cepstra under a lifter. Values, rows and frames.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn mel<'py>(
    py: Python<'py>,
    signal: &[u8],
    rate: u32,
    frames: Frames,
    bank: Bank,
    decibels: bool,
    top_db: Option<f32>,
    coefficients: Option<usize>,
    lifter: f64,
) -> PyResult<Matrix<'py>> {
    let signal = samples(signal)?;
    let settings = FeatureSettings {
        sample_rate: rate,
        gain: 1.0,
        spectrum: frames.spectrum()?,
        mel: bank.settings(),
        compression: match decibels {
            true => Compression::Decibel { floor: 1e-10 },
            false => Compression::None,
        },
        dynamic_range: top_db,
        scale: (1.0, 0.0),
        cepstrum: coefficients.map(|coefficients| CepstrumSettings {
            coefficients,
            lifter: match lifter > 0.0 {
                true => Lifter::FromOne { length: lifter },
                false => Lifter::None,
            },
        }),
        drop_last_frame: false,
        layout: Layout::RowsFirst,
    };
    feature(py, &signal, settings)
}

fn feature<'py>(
    py: Python<'py>,
    signal: &[f32],
    settings: FeatureSettings,
) -> PyResult<Matrix<'py>> {
    let values = py.detach(|| MelFeature::new(settings)?.compute(signal));
    let (rows, frames) = (settings.rows(), settings.frames(signal.len()));
    Ok((bytes(py, &values.map_err(refused)?), rows, frames))
}

/// The weights of mel filters, filters by bins.
#[pyfunction]
pub(crate) fn mel_bank<'py>(
    py: Python<'py>,
    rate: u32,
    transform: usize,
    bank: Bank,
) -> PyResult<Matrix<'py>> {
    let bins = transform / 2 + 1;
    let weights = || {
        check_room("the filters", bank.0.saturating_mul(bins), size_of::<f32>())?;
        let bank = MelBank::new(&bank.settings(), rate, transform)?;
        let mut weights = vec![0.0; bank.filters().len() * bins];
        for (row, filter) in weights.chunks_exact_mut(bins).zip(bank.filters()) {
            row[filter.first..][..filter.weights.len()].copy_from_slice(&filter.weights);
        }
        Ok(weights)
    };
    let weights = weights().map_err(refused)?;
    Ok((bytes(py, &weights), bank.0, bins))
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
pub(crate) fn preset_features<'py>(
    py: Python<'py>,
    signal: &[u8],
    rate: u32,
    preset: &str,
    stage: &str,
    coefficients: usize,
    transform: Option<usize>,
    hop: Option<usize>,
    filters: Option<usize>,
) -> PyResult<Matrix<'py>> {
    let signal = samples(signal)?;
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
    feature(py, &signal, settings)
}

/// The derivative of every row of so many frames.
#[pyfunction]
pub(crate) fn delta<'py>(
    py: Python<'py>,
    features: &[u8],
    frames: usize,
    width: usize,
    order: usize,
) -> PyResult<Bound<'py, PyByteArray>> {
    let features = floats(features)?;
    let order = match order {
        1 => Derivative::First,
        2 => Derivative::Second,
        other => {
            return Err(PyValueError::new_err(format!(
                "order = {other} cannot be used: 1 and 2 are known"
            )));
        }
    };
    let moved = py.detach(|| warpsmith_voice::delta(&features, frames, width, order));
    Ok(bytes(py, &moved.map_err(refused)?))
}

/// Constant-Q spectra: complex values, bins and frames.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn constant_q<'py>(
    py: Python<'py>,
    signal: &[u8],
    rate: u32,
    hop: usize,
    lowest_hz: Option<f64>,
    bins: usize,
    per_octave: usize,
    gamma_hz: f64,
) -> PyResult<Matrix<'py>> {
    let signal = samples(signal)?;
    let piano = ConstantQSettings::piano(hop);
    let settings = ConstantQSettings {
        lowest_hz: lowest_hz.unwrap_or(piano.lowest_hz),
        bins,
        per_octave,
        gamma_hz,
        ..piano
    };
    let spectra = py.detach(|| {
        let mut analysis = ConstantQ::new(rate, settings)?;
        analysis.check_room(signal.len())?;
        Ok::<_, SignalError>(analysis.compute(&signal))
    });
    let (values, frames) = spectra.map_err(refused)?;
    Ok((complex(py, &values), bins, frames))
}

/// The power of pitch classes: values, classes and frames.
#[pyfunction]
pub(crate) fn chroma<'py>(
    py: Python<'py>,
    signal: &[u8],
    rate: u32,
    frames: Frames,
) -> PyResult<Matrix<'py>> {
    let (signal, settings) = (samples(signal)?, frames.spectrum()?);
    let classes = py.detach(|| Chroma::new(settings, rate)?.compute(&signal));
    let classes = classes.map_err(refused)?;
    let frames = settings.framing.count(signal.len());
    Ok((bytes(py, &classes), warpsmith_voice::PITCH_CLASSES, frames))
}
