//! Audio analysis over bytes of 32-bit floats; Python turns them into arrays.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use warpsmith_voice::{
    Audio, ChannelChoice, Framing, Layout, MelFeature, Padding, PitchRange, Preset, Pyin,
    PyinSettings, Sizes, Stage, Yin, check_finite,
};

use crate::failed;

/// The samples behind `bytes`, which need not be aligned.
fn samples(bytes: &[u8]) -> PyResult<Vec<f32>> {
    let (samples, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(PyValueError::new_err("the samples are not 32-bit floats"));
    }
    let signal: Vec<f32> = samples
        .iter()
        .map(|sample| f32::from_ne_bytes(*sample))
        .collect();
    check_finite(&signal).map_err(failed)?;
    Ok(signal)
}

fn bytes<'py>(py: Python<'py>, values: &[f32]) -> Bound<'py, PyBytes> {
    PyBytes::new(py, bytemuck::cast_slice(values))
}

/// One channel (or the mean of all) and the sample rate of a file.
#[pyfunction]
pub(crate) fn read_audio<'py>(
    py: Python<'py>,
    path: PathBuf,
) -> PyResult<(Bound<'py, PyBytes>, u32)> {
    let (signal, rate) = py.detach(|| {
        let audio = Audio::read(&path).map_err(failed)?;
        let signal = audio.signal(ChannelChoice::Mix).map_err(failed)?;
        Ok::<_, PyErr>((signal, audio.sample_rate))
    })?;
    Ok((bytes(py, &signal), rate))
}

/// Mel powers, their logarithms or cepstra: values, rows and columns.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn features<'py>(
    py: Python<'py>,
    signal: &[u8],
    rate: u32,
    preset: &str,
    stage: &str,
    coefficients: usize,
    transform: Option<usize>,
    hop: Option<usize>,
    filters: Option<usize>,
) -> PyResult<(Bound<'py, PyBytes>, usize, usize)> {
    let signal = samples(signal)?;
    let (values, shape) = py.detach(|| {
        let preset: Preset = preset.parse().map_err(failed)?;
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
        let mut settings = preset.feature(rate, sizes, stage);
        settings.layout = Layout::FramesFirst;
        let mut feature = MelFeature::new(settings).map_err(failed)?;
        let values = feature.compute(&signal).map_err(failed)?;
        let rows = settings.rows();
        Ok::<_, PyErr>((values, rows))
    })?;
    let frames = values.len() / shape.max(1);
    Ok((bytes(py, &values), frames, shape))
}

fn framing(frame: usize, hop: usize) -> Framing {
    Framing {
        length: frame,
        hop,
        padding: Padding::CentredZero,
    }
}

/// The fundamental frequency of every frame.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn yin<'py>(
    py: Python<'py>,
    signal: &[u8],
    rate: u32,
    low: f64,
    high: f64,
    frame: usize,
    hop: usize,
    threshold: f32,
) -> PyResult<Bound<'py, PyBytes>> {
    let signal = samples(signal)?;
    let track = py.detach(|| {
        let range = PitchRange {
            low_hz: low,
            high_hz: high,
        };
        let mut yin = Yin::new(rate, framing(frame, hop), range, threshold).map_err(failed)?;
        yin.track(&signal).map_err(failed)
    })?;
    Ok(bytes(py, &track))
}

/// Frequency, voicing (0 or 1) and its probability of every frame.
#[pyfunction]
pub(crate) fn pyin<'py>(
    py: Python<'py>,
    signal: &[u8],
    rate: u32,
    low: f64,
    high: f64,
    frame: usize,
    hop: usize,
) -> PyResult<(
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
)> {
    let signal = samples(signal)?;
    let track = py.detach(|| {
        let range = PitchRange {
            low_hz: low,
            high_hz: high,
        };
        let settings = PyinSettings::default();
        let mut pyin = Pyin::new(rate, framing(frame, hop), range, settings).map_err(failed)?;
        Ok::<_, PyErr>(pyin.track(&signal))
    })?;
    let voiced: Vec<u8> = track
        .voiced
        .iter()
        .map(|voiced| u8::from(*voiced))
        .collect();
    Ok((
        bytes(py, &track.frequency),
        PyBytes::new(py, &voiced),
        bytes(py, &track.probability),
    ))
}
