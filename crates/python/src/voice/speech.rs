//! Speech in a recording: where it is, how loud the recording is, and the resonances of the voice.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use warpsmith_voice::quality::{FormantSettings, FormantTracker};
use warpsmith_voice::{
    Audio, EnergyVad, FrameMillis, Loudness, PeriodicityVad, SignalError, StatisticalSettings,
    StatisticalVad, WebrtcMode, WebrtcVad, segments,
};

use super::{bytes, refused, samples};

/// Integrated loudness, its range, the loudest 0.4 s and 3 s, and the true peak; NaN is absent.
#[pyfunction]
pub(crate) fn loudness(
    py: Python<'_>,
    signals: &[u8],
    channels: usize,
    rate: u32,
) -> PyResult<[f64; 5]> {
    let signals = samples(signals)?;
    let audio = Audio {
        sample_rate: rate,
        channels: signals
            .chunks_exact((signals.len() / channels.max(1)).max(1))
            .map(<[f32]>::to_vec)
            .collect(),
    };
    let measured = py.detach(|| Loudness::measure(&audio)).map_err(refused)?;
    let loudest = |values: &[f64]| values.iter().copied().fold(f64::NAN, f64::max);
    Ok([
        measured.integrated,
        measured.range.unwrap_or(f64::NAN),
        loudest(&measured.momentary),
        loudest(&measured.short_term),
        measured.true_peak,
    ])
}

/// Whether there is speech, for every 10 ms, as 0 or 1.
#[pyfunction]
pub(crate) fn speech<'py>(
    py: Python<'py>,
    signal: &[u8],
    rate: u32,
    method: &str,
    aggressiveness: u8,
    margin_db: f32,
) -> PyResult<Bound<'py, PyByteArray>> {
    let signal = samples(signal)?;
    let mode = match aggressiveness {
        0 => WebrtcMode::Quality,
        1 => WebrtcMode::LowBitrate,
        2 => WebrtcMode::Aggressive,
        3 => WebrtcMode::VeryAggressive,
        other => {
            return Err(PyValueError::new_err(format!(
                "aggressiveness = {other} cannot be used: it goes from 0 to 3"
            )));
        }
    };
    let decisions = py.detach(|| {
        Ok::<_, SignalError>(match method {
            "statistical" => {
                Some(StatisticalVad::new(rate, StatisticalSettings::default())?.decide(&signal)?)
            }
            "periodicity" => Some(PeriodicityVad::new(rate)?.decide(&signal)),
            "webrtc" => Some(WebrtcVad::decide(&signal, rate, mode, FrameMillis::Ten)?),
            "energy" => {
                let hop = (rate as usize / 100).max(1);
                Some(EnergyVad::new(margin_db).decide(&signal, hop))
            }
            _ => None,
        })
    });
    match decisions.map_err(refused)? {
        Some(decisions) => {
            let decisions: Vec<u8> = decisions.iter().map(|speech| u8::from(*speech)).collect();
            Ok(PyByteArray::new(py, &decisions))
        }
        None => Err(PyValueError::new_err(format!(
            "method = `{method}` cannot be used: `statistical`, `periodicity`, `energy` and `webrtc` are known"
        ))),
    }
}

/// Start and end of every stretch of speech, in seconds, of decisions so many seconds apart.
#[pyfunction]
pub(crate) fn speech_segments(decisions: &[u8], hop_seconds: f64) -> Vec<(f64, f64)> {
    let decisions: Vec<bool> = decisions.iter().map(|speech| *speech != 0).collect();
    let found = segments(&decisions, hop_seconds);
    found.iter().map(|part| (part.start, part.end)).collect()
}

/// Times in seconds, and the frequencies and bandwidths of each frame's formants, `[formant, frame]`; NaN is
/// absent.
#[pyfunction]
pub(crate) fn formants<'py>(
    py: Python<'py>,
    signal: &[u8],
    rate: u32,
    count: usize,
    ceiling_hz: f64,
    window_seconds: f64,
    hop_seconds: f64,
) -> PyResult<(Vec<f64>, Bound<'py, PyByteArray>, Bound<'py, PyByteArray>)> {
    let signal = samples(signal)?;
    let settings = FormantSettings {
        count,
        ceiling_hz,
        window_seconds,
        hop_seconds,
        ..FormantSettings::default()
    };
    let track = py.detach(|| Ok(FormantTracker::new(rate, settings)?.track(&signal)));
    let track = track.map_err(refused)?;
    let span = track.len().saturating_sub(1) as f64 * hop_seconds;
    let first = (signal.len() as f64 / f64::from(rate) - span) / 2.0;
    let times = (0..track.len()).map(|frame| first + frame as f64 * hop_seconds);
    let matrix = |of: fn(&warpsmith_voice::quality::Formant) -> f32| -> Vec<f32> {
        (0..count)
            .flat_map(|n| {
                let frames = track.iter();
                frames.map(move |formants| formants.get(n).map_or(f32::NAN, of))
            })
            .collect()
    };
    Ok((
        times.collect(),
        bytes(py, &matrix(|formant| formant.frequency)),
        bytes(py, &matrix(|formant| formant.bandwidth)),
    ))
}
