//! The fundamental frequency.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use warpsmith_voice::{
    CrepeNetwork, CrepePitch, HqPitch, NetPitch, PitchRange, PraatPitch, PraatSettings, Pyin,
    PyinSettings, SignalError, Swipe, Weights, Yin,
};

use super::{Array, Samples, framing, work};

pub(super) fn range_of((low_hz, high_hz): (f64, f64)) -> PitchRange {
    PitchRange { low_hz, high_hz }
}

/// The fundamental frequency of every frame.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn yin(
    py: Python<'_>,
    signal: Samples<'_>,
    rate: u32,
    range: (f64, f64),
    frame: usize,
    hop: usize,
    beyond: &str,
    threshold: f32,
) -> PyResult<Array> {
    let signal = signal.finite()?;
    let range = range_of(range);
    let framing = framing(frame, hop, beyond)?;
    let track = work(py, || {
        Yin::new(rate, framing, range, threshold)?.track(signal)
    });
    track.map(Array::line)
}

/// Frequency, voicing and its probability of every frame.
#[pyfunction]
pub(crate) fn pyin(
    py: Python<'_>,
    signal: Samples<'_>,
    rate: u32,
    range: (f64, f64),
    frame: usize,
    hop: usize,
    beyond: &str,
) -> PyResult<(Array, Array, Array)> {
    let signal = signal.finite()?;
    let range = range_of(range);
    let framing = framing(frame, hop, beyond)?;
    let track = work(py, || {
        let mut pyin = Pyin::new(rate, framing, range, PyinSettings::default())?;
        pyin.check_room(signal.len())?;
        Ok(pyin.track(signal))
    })?;
    Ok((
        Array::line(track.frequency),
        Array::line(track.voiced),
        Array::line(track.probability),
    ))
}

/// Times in seconds, frequencies (0 where unvoiced) and how sure they are, by a tracker's name. `weights` names
/// the file of a network's.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn pitch(
    py: Python<'_>,
    signal: Samples<'_>,
    rate: u32,
    range: (f64, f64),
    hop: usize,
    method: &str,
    weights: Option<PathBuf>,
    threshold: Option<f32>,
) -> PyResult<(Array, Array, Array)> {
    let signal = signal.finite()?;
    let range = range_of(range);
    let track = work(py, || {
        Ok::<_, SignalError>(match (method, weights) {
            ("praat", _) => {
                let settings = PraatSettings::default();
                let track = PraatPitch::new(rate, hop, range, settings)?.track(signal);
                Some((track.seconds, track.frequency, track.strength))
            }
            ("swipe", _) => {
                let track = Swipe::new(rate, hop, range, Swipe::THRESHOLD)?.track(signal);
                Some((track.seconds, track.frequency, track.strength))
            }
            ("hq", _) => {
                let track = HqPitch::new(rate, hop, range)?.track(signal);
                Some((track.seconds, track.frequency, track.confidence))
            }
            ("net", _) => {
                let threshold = threshold.unwrap_or(NetPitch::THRESHOLD);
                let track = NetPitch::new(rate, hop, range, threshold)?.track(signal);
                Some((track.seconds, track.frequency, track.voiced))
            }
            ("crepe", Some(weights)) => {
                let network = CrepeNetwork::new(&Weights::read(&weights)?)?;
                let track = CrepePitch::new(&network, rate, hop, range)?.track(signal);
                Some((track.seconds, track.frequency, track.periodicity))
            }
            _ => None,
        })
    });
    match track? {
        Some((seconds, hertz, sure)) => {
            Ok((Array::line(seconds), Array::line(hertz), Array::line(sure)))
        }
        None => Err(PyValueError::new_err(format!(
            "method = `{method}` cannot be used: `hq`, `net`, `praat`, `swipe`, and `crepe` with the `weights` of its \
             network are known"
        ))),
    }
}
