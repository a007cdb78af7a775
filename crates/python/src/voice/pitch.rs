//! The fundamental frequency.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use warpsmith_voice::{
    HqPitch, PitchRange, PraatPitch, PraatSettings, Pyin, PyinSettings, SignalError, Swipe, Yin,
};

use super::{bytes, framing, refused, samples};

fn range_of((low_hz, high_hz): (f64, f64)) -> PitchRange {
    PitchRange { low_hz, high_hz }
}

/// The fundamental frequency of every frame.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn yin<'py>(
    py: Python<'py>,
    signal: &[u8],
    rate: u32,
    range: (f64, f64),
    frame: usize,
    hop: usize,
    beyond: &str,
    threshold: f32,
) -> PyResult<Bound<'py, PyByteArray>> {
    let signal = samples(signal)?;
    let range = range_of(range);
    let framing = framing(frame, hop, beyond)?;
    let track = py.detach(|| Yin::new(rate, framing, range, threshold)?.track(&signal));
    Ok(bytes(py, &track.map_err(refused)?))
}

/// What pYIN says of every frame: frequency, voicing (0 or 1), and its probability.
type Track<'py> = (
    Bound<'py, PyByteArray>,
    Bound<'py, PyByteArray>,
    Bound<'py, PyByteArray>,
);

/// Frequency, voicing and its probability of every frame.
#[pyfunction]
pub(crate) fn pyin<'py>(
    py: Python<'py>,
    signal: &[u8],
    rate: u32,
    range: (f64, f64),
    frame: usize,
    hop: usize,
    beyond: &str,
) -> PyResult<Track<'py>> {
    let signal = samples(signal)?;
    let range = range_of(range);
    let framing = framing(frame, hop, beyond)?;
    let track = py.detach(|| {
        let mut pyin = Pyin::new(rate, framing, range, PyinSettings::default())?;
        pyin.check_room(signal.len())?;
        Ok(pyin.track(&signal))
    });
    let track = track.map_err(refused)?;
    let voiced: Vec<u8> = track
        .voiced
        .iter()
        .map(|voiced| u8::from(*voiced))
        .collect();
    Ok((
        bytes(py, &track.frequency),
        PyByteArray::new(py, &voiced),
        bytes(py, &track.probability),
    ))
}

/// Times in seconds, frequencies (0 where unvoiced) and how sure they are, by a tracker's name.
#[pyfunction]
pub(crate) fn pitch<'py>(
    py: Python<'py>,
    signal: &[u8],
    rate: u32,
    range: (f64, f64),
    hop: usize,
    method: &str,
) -> PyResult<(Vec<f64>, Bound<'py, PyByteArray>, Bound<'py, PyByteArray>)> {
    let signal = samples(signal)?;
    let range = range_of(range);
    let track = py.detach(|| {
        Ok::<_, SignalError>(match method {
            "praat" => {
                let settings = PraatSettings::default();
                let track = PraatPitch::new(rate, hop, range, settings)?.track(&signal);
                Some((track.seconds, track.frequency, track.strength))
            }
            "swipe" => {
                let track = Swipe::new(rate, hop, range, Swipe::THRESHOLD)?.track(&signal);
                Some((track.seconds, track.frequency, track.strength))
            }
            "hq" => {
                let track = HqPitch::new(rate, hop, range)?.track(&signal);
                Some((track.seconds, track.frequency, track.confidence))
            }
            _ => None,
        })
    });
    match track.map_err(refused)? {
        Some((seconds, hertz, sure)) => Ok((seconds, bytes(py, &hertz), bytes(py, &sure))),
        None => Err(PyValueError::new_err(format!(
            "method = `{method}` cannot be used: `praat`, `swipe` and `hq` are known"
        ))),
    }
}
