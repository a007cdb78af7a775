//! A frame in a few numbers: its level, the shape of its spectrum, and whether a sound begins in it.

use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use warpsmith_voice::{CONTRAST_BANDS, Levels, OnsetDetector, SpectralContrast, SpectralShape};

use super::{Frames, bytes, floats, framing, refused, samples};

/// Root mean square and zero-crossing rate of every frame.
#[pyfunction]
pub(crate) fn levels<'py>(
    py: Python<'py>,
    signal: &[u8],
    frame: usize,
    hop: usize,
    beyond: &str,
) -> PyResult<(Bound<'py, PyByteArray>, Bound<'py, PyByteArray>)> {
    let signal = samples(signal)?;
    let framing = framing(frame, hop, beyond)?;
    let levels = py.detach(|| Levels::measure(&signal, framing));
    let levels = levels.map_err(refused)?;
    Ok((
        bytes(py, &levels.rms),
        bytes(py, &levels.zero_crossing_rate),
    ))
}

/// A number to a frame, by name.
#[pyfunction]
pub(crate) fn spectral_shape<'py>(
    py: Python<'py>,
    signal: &[u8],
    rate: u32,
    frames: Frames,
) -> PyResult<Vec<(&'static str, Bound<'py, PyByteArray>)>> {
    let (signal, settings) = (samples(signal)?, frames.spectrum()?);
    let shape = py.detach(|| Ok(SpectralShape::new(settings, rate)?.measure(&signal)));
    let shape = shape.map_err(refused)?;
    let rows = [
        ("centroid", shape.centroid),
        ("bandwidth", shape.bandwidth),
        ("rolloff", shape.rolloff),
        ("flatness", shape.flatness),
        ("entropy", shape.entropy),
        ("flux", shape.flux),
        ("slope", shape.slope),
    ];
    Ok(rows.map(|(name, row)| (name, bytes(py, &row))).to_vec())
}

/// Contrast in dB: values, bands and frames.
#[pyfunction]
pub(crate) fn spectral_contrast<'py>(
    py: Python<'py>,
    signal: &[u8],
    rate: u32,
    frames: Frames,
) -> PyResult<(Bound<'py, PyByteArray>, usize, usize)> {
    let (signal, settings) = (samples(signal)?, frames.spectrum()?);
    let contrast = py.detach(|| SpectralContrast::new(settings, rate)?.compute(&signal));
    let contrast = contrast.map_err(refused)?;
    let count = settings.framing.count(signal.len());
    Ok((bytes(py, &contrast), CONTRAST_BANDS, count))
}

/// How much each frame rises above the one before.
#[pyfunction]
pub(crate) fn onset_strength<'py>(
    py: Python<'py>,
    signal: &[u8],
    rate: u32,
    transform: usize,
    hop: usize,
) -> PyResult<Bound<'py, PyByteArray>> {
    let signal = samples(signal)?;
    framing(transform, hop, "constant")?;
    let strength = py.detach(|| OnsetDetector::new(rate, transform, hop)?.strength(&signal));
    Ok(bytes(py, &strength.map_err(refused)?))
}

/// The frames in which sounds begin, by the strengths of all.
#[pyfunction]
pub(crate) fn onset_frames(strength: &[u8], rate: u32, hop: usize) -> PyResult<Vec<usize>> {
    framing(1, hop, "constant")?;
    Ok(warpsmith_voice::onset_frames(&floats(strength)?, rate, hop))
}
