//! From sound to sound.

use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use warpsmith_voice::check_room;
use warpsmith_voice::effect::{DenoiseSettings, Denoiser, GriffinLim, StretchSettings};
use warpsmith_voice::signal::TrimSettings;

use super::{Frames, bytes, refused, samples};

/// A signal at so many times its speed.
#[pyfunction]
pub(crate) fn time_stretch<'py>(
    py: Python<'py>,
    signal: &[u8],
    speed: f64,
    transform: usize,
    hop: usize,
) -> PyResult<Bound<'py, PyByteArray>> {
    let signal = samples(signal)?;
    let settings = StretchSettings { transform, hop };
    let stretched = py.detach(|| warpsmith_voice::effect::time_stretch(&signal, speed, settings));
    Ok(bytes(py, &stretched.map_err(refused)?))
}

/// A signal so many semitones higher.
#[pyfunction]
pub(crate) fn pitch_shift<'py>(
    py: Python<'py>,
    signal: &[u8],
    semitones: f64,
    transform: usize,
    hop: usize,
) -> PyResult<Bound<'py, PyByteArray>> {
    let signal = samples(signal)?;
    let settings = StretchSettings { transform, hop };
    let shifted = py.detach(|| warpsmith_voice::effect::pitch_shift(&signal, semitones, settings));
    Ok(bytes(py, &shifted.map_err(refused)?))
}

/// The first sample that is not silence, and the one after the last.
#[pyfunction]
pub(crate) fn trim(
    py: Python<'_>,
    signal: &[u8],
    range_db: f32,
    frame: usize,
    hop: usize,
) -> PyResult<(usize, usize)> {
    let signal = samples(signal)?;
    let settings = TrimSettings {
        range_db,
        frame,
        hop,
    };
    let kept = py.detach(|| warpsmith_voice::signal::trim(&signal, settings));
    let kept = kept.map_err(refused)?;
    Ok((kept.start, kept.end))
}

/// The signal of so many samples whose magnitudes are near the given ones.
#[pyfunction]
pub(crate) fn griffin_lim<'py>(
    py: Python<'py>,
    magnitudes: &[u8],
    frames: Frames,
    count: usize,
    iterations: usize,
    momentum: f32,
    seed: u64,
) -> PyResult<Bound<'py, PyByteArray>> {
    let magnitudes = samples(magnitudes)?;
    let settings = frames.spectrum()?;
    let rounds = GriffinLim {
        iterations,
        momentum,
        seed,
    };
    let signal = py.detach(|| {
        check_room("the signal", count, 4 * size_of::<f32>())?;
        rounds.reconstruct(&magnitudes, settings, count)
    });
    Ok(bytes(py, &signal.map_err(refused)?))
}

/// A signal without its steady noise; `noise` names samples that hold nothing else.
#[pyfunction]
pub(crate) fn denoise<'py>(
    py: Python<'py>,
    signal: &[u8],
    rate: u32,
    reduction_db: f64,
    margin_db: f64,
    noise: Option<(usize, usize)>,
) -> PyResult<Bound<'py, PyByteArray>> {
    let signal = samples(signal)?;
    let settings = DenoiseSettings {
        reduction_db,
        margin_db,
    };
    let noise = noise.map(|(start, end)| start..end);
    let clean = py.detach(|| Denoiser::new(rate, settings)?.process(&signal, noise));
    Ok(bytes(py, &clean.map_err(refused)?))
}
