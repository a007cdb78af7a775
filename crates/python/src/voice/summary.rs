//! A recording in a few numbers: an overview, quality, 88 features, turns of speech.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use warpsmith_descriptors::egemaps::{NAMES, summarise};
use warpsmith_descriptors::overview::Overview;
use warpsmith_descriptors::quality::quality_figures;
use warpsmith_descriptors::speech::{CutSettings, StepEnergies, cut};
use warpsmith_descriptors::turns::{TurnSettings, find_turns};
use warpsmith_voice::{
    PitchRange, Segment, StatisticalSettings, StatisticalVad, segments as stretches,
};

use super::effect::audio_of;
use super::{Samples, work};

/// Seconds between decisions about speech.
const HOP_SECONDS: f64 = 0.01;

/// A recording at a glance.
#[pyfunction]
pub(crate) fn analyze<'py>(
    py: Python<'py>,
    channels: Samples<'_>,
    rate: u32,
) -> PyResult<Bound<'py, PyDict>> {
    let audio = audio_of(&channels, rate)?;
    let found = work(py, || Overview::of(&audio))?;
    let about = PyDict::new(py);
    about.set_item("seconds", found.seconds)?;
    about.set_item("sample_rate", found.sample_rate)?;
    about.set_item("channels", found.channels)?;
    about.set_item("peak", found.peak)?;
    about.set_item("clipped", found.clipped)?;
    about.set_item("loudness_lufs", found.loudness_lufs)?;
    about.set_item("speech", pairs(&found.speech))?;
    about.set_item("speech_seconds", found.speech_seconds)?;
    about.set_item("voiced_share", found.voiced_share)?;
    about.set_item("pitch_median_hz", found.pitch_median_hz)?;
    about.set_item("pitch_low_hz", found.pitch_low_hz)?;
    about.set_item("pitch_high_hz", found.pitch_high_hz)?;
    Ok(about)
}

/// Figures of a voice's quality by their names; NaN is absent.
#[pyfunction]
pub(crate) fn quality<'py>(
    py: Python<'py>,
    signal: Samples<'_>,
    rate: u32,
    range: (f64, f64),
) -> PyResult<Bound<'py, PyDict>> {
    let signal = signal.finite()?;
    let range = PitchRange {
        low_hz: range.0,
        high_hz: range.1,
    };
    let figures = work(py, || quality_figures(signal, rate, range))?;
    let named = PyDict::new(py);
    for (name, value) in figures {
        named.set_item(name, value.unwrap_or(f64::NAN))?;
    }
    Ok(named)
}

/// The 88 features by their names.
#[pyfunction]
pub(crate) fn egemaps<'py>(
    py: Python<'py>,
    signal: Samples<'_>,
    rate: u32,
) -> PyResult<Bound<'py, PyDict>> {
    let signal = signal.finite()?;
    let features = work(py, || summarise(signal, rate))?;
    let named = PyDict::new(py);
    for (name, value) in NAMES.iter().zip(features) {
        named.set_item(name, value)?;
    }
    Ok(named)
}

/// Start and end of every turn, seconds, and by how much two voices fit better than one at its start.
#[pyfunction]
pub(crate) fn turns(
    py: Python<'_>,
    signal: Samples<'_>,
    rate: u32,
    penalty: f64,
    window: f64,
    least: f64,
) -> PyResult<Vec<(f64, f64, f64)>> {
    let signal = signal.finite()?;
    let settings = TurnSettings {
        penalty,
        window,
        least,
    };
    let found = work(py, || {
        let decisions =
            StatisticalVad::new(rate, StatisticalSettings::default())?.decide(signal)?;
        find_turns(signal, rate, &stretches(&decisions, HOP_SECONDS), &settings)
    })?;
    let rows = found.iter();
    Ok(rows
        .map(|turn| (turn.start, turn.end, turn.gain.unwrap_or(f64::NAN)))
        .collect())
}

/// Start and end of every stretch of speech, seconds, of decisions every 10 ms about a signal: padded, joined and
/// cut as a recogniser wants them.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn speech_segments(
    py: Python<'_>,
    signal: Samples<'_>,
    rate: u32,
    decisions: &[u8],
    pad: f64,
    least_speech: f64,
    least_pause: f64,
    longest: Option<f64>,
) -> PyResult<Vec<(f64, f64)>> {
    let signal = signal.finite()?;
    let decisions: Vec<bool> = decisions.iter().map(|speech| *speech != 0).collect();
    let settings = CutSettings {
        pad,
        least_speech,
        least_pause,
        longest,
    };
    let found = stretches(&decisions, HOP_SECONDS);
    let cut = work(py, || {
        cut(&found, &StepEnergies::of(signal, rate), &settings)
    })?;
    Ok(pairs(&cut))
}

fn pairs(segments: &[Segment]) -> Vec<(f64, f64)> {
    let parts = segments.iter();
    parts.map(|part| (part.start, part.end)).collect()
}
