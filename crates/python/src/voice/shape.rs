//! A frame in a few numbers: its level, the shape of its spectrum, and whether a sound begins in it.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use warpsmith_voice::{
    ContrastSettings, Levels, OnsetDetector, SpectralContrast, SpectralShape, SpectralStatistics,
};

use super::{Array, Frames, Samples, framing, work};

/// Root mean square and zero-crossing rate of every frame.
#[pyfunction]
pub(crate) fn levels(
    py: Python<'_>,
    signal: Samples<'_>,
    frame: usize,
    hop: usize,
    beyond: &str,
) -> PyResult<(Array, Array)> {
    let signal = signal.finite()?;
    let framing = framing(frame, hop, beyond)?;
    let levels = work(py, || Levels::measure(signal, framing))?;
    let row = |values: Vec<f32>| {
        let frames = values.len();
        Array::of(values, &[1, frames])
    };
    Ok((row(levels.rms), row(levels.zero_crossing_rate)))
}

/// One number to a frame, the one of this name.
#[pyfunction]
pub(crate) fn spectral_shape(
    py: Python<'_>,
    signal: Samples<'_>,
    rate: u32,
    frames: Frames,
    name: &str,
) -> PyResult<Array> {
    let (signal, settings) = (signal.finite()?, frames.spectrum()?);
    let shape = work(py, || {
        Ok(SpectralShape::new(settings, rate)?.measure(signal))
    });
    let row = statistic(shape?, name)?;
    let count = row.len();
    Ok(Array::of(row, &[1, count]))
}

/// The statistic of this name.
pub(super) fn statistic(of: SpectralStatistics, name: &str) -> PyResult<Vec<f32>> {
    Ok(match name {
        "centroid" => of.centroid,
        "bandwidth" => of.bandwidth,
        "rolloff" => of.rolloff,
        "flatness" => of.flatness,
        "entropy" => of.entropy,
        "flux" => of.flux,
        "slope" => of.slope,
        other => {
            return Err(PyValueError::new_err(format!(
                "there is no statistic `{other}`: centroid, bandwidth, rolloff, flatness, entropy, flux and \
                 slope are known"
            )));
        }
    })
}

/// Contrast in dB: values, bands and frames. The bands are the upper edge of the lowest, octaves above it, and the share
/// of their bins at either end.
#[pyfunction]
pub(crate) fn spectral_contrast(
    py: Python<'_>,
    signal: Samples<'_>,
    rate: u32,
    frames: Frames,
    bands: (f64, usize, f64),
) -> PyResult<Array> {
    let (signal, settings) = (signal.finite()?, frames.spectrum()?);
    let (lowest_hz, octaves, share) = bands;
    let bands = ContrastSettings {
        lowest_hz,
        octaves,
        share,
    };
    let contrast = work(py, || {
        SpectralContrast::with_bands(settings, rate, bands)?.compute(signal)
    })?;
    let count = settings.framing.count(signal.len());
    Ok(Array::of(contrast, &[bands.bands(), count]))
}

/// How much each frame rises above the one before.
#[pyfunction]
pub(crate) fn onset_strength(
    py: Python<'_>,
    signal: Samples<'_>,
    rate: u32,
    transform: usize,
    hop: usize,
) -> PyResult<Array> {
    let signal = signal.finite()?;
    framing(transform, hop, "constant")?;
    work(py, || {
        OnsetDetector::new(rate, transform, hop)?.strength(signal)
    })
    .map(Array::line)
}

/// The frames in which sounds begin, by the strengths of all.
#[pyfunction]
pub(crate) fn onset_frames(strength: Samples<'_>, rate: u32, hop: usize) -> PyResult<Vec<usize>> {
    framing(1, hop, "constant")?;
    Ok(warpsmith_voice::onset_frames(strength.floats(), rate, hop))
}
