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

/// pYIN as Python names it: `beta_parameters`, `boltzmann_parameter`, `no_trough_prob`, bins to a semitone,
/// `max_transition_rate`, `switch_prob`.
#[derive(FromPyObject)]
pub(crate) struct Thresholds((u32, u32), f64, f64, usize, f64, f64);

impl Thresholds {
    fn settings(&self) -> PyResult<PyinSettings> {
        let Self((a, b), boltzmann, no_trough, bins, fastest, switch) = *self;
        let is_share = |share: f64| (0.0..=1.0).contains(&share);
        for (name, fits, possible) in [
            (
                "beta_parameters",
                (1..=100).contains(&a) && (1..=100).contains(&b),
                "1 to 100",
            ),
            (
                "boltzmann_parameter",
                (0.0..=1000.0).contains(&boltzmann),
                "0 to 1000",
            ),
            ("no_trough_prob", is_share(no_trough), "0 to 1"),
            (
                "max_transition_rate",
                (0.0..=1000.0).contains(&fastest),
                "0 to 1000",
            ),
            ("switch_prob", is_share(switch), "0 to 1"),
        ] {
            if !fits {
                return Err(PyValueError::new_err(format!(
                    "{name} cannot be used: numbers from {possible} are possible"
                )));
            }
        }
        Ok(PyinSettings {
            beta: (a, b),
            boltzmann,
            no_trough,
            bins_per_semitone: bins,
            octaves_per_second: fastest,
            switch,
        })
    }
}

/// Frequency, voicing and its probability of every frame.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn pyin(
    py: Python<'_>,
    signal: Samples<'_>,
    rate: u32,
    range: (f64, f64),
    frame: usize,
    hop: usize,
    beyond: &str,
    how: Thresholds,
) -> PyResult<(Array, Array, Array)> {
    let (signal, settings) = (signal.finite()?, how.settings()?);
    let range = range_of(range);
    let framing = framing(frame, hop, beyond)?;
    let track = work(py, || {
        let mut pyin = Pyin::new(rate, framing, range, settings)?;
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
