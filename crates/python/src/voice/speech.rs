//! Speech in a recording: where it is, how loud the recording is, and a picture of both.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use warpsmith_descriptors::picture::{FrequencyScale, Lane, Picture, PictureSettings};
use warpsmith_voice::{
    EnergyVad, FrameMillis, Loudness, NetVad, NeuralSettings, NeuralVad, PeriodicityVad,
    SignalError, SileroNetwork, StatisticalSettings, StatisticalVad, WebrtcMode, WebrtcVad,
    Weights,
};

use super::effect::audio_of;
use super::{Array, Samples, work};

/// Integrated loudness, its range, the loudest 0.4 s and 3 s, and the true peak; NaN is absent.
#[pyfunction]
pub(crate) fn loudness(py: Python<'_>, channels: Samples<'_>, rate: u32) -> PyResult<[f64; 5]> {
    let audio = audio_of(&channels, rate)?;
    let measured = work(py, || Loudness::measure(&audio))?;
    let loudest = |values: &[f64]| values.iter().copied().fold(f64::NAN, f64::max);
    Ok([
        measured.integrated,
        measured.range.unwrap_or(f64::NAN),
        loudest(&measured.momentary),
        loudest(&measured.short_term),
        measured.true_peak,
    ])
}

/// Whether there is speech, for every 10 ms. `weights` names the file of a network's.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn speech(
    py: Python<'_>,
    signal: Samples<'_>,
    rate: u32,
    method: &str,
    aggressiveness: u8,
    margin_db: f32,
    threshold: Option<f32>,
    weights: Option<PathBuf>,
) -> PyResult<Array> {
    let signal = signal.finite()?;
    let mode = webrtc_mode(aggressiveness)?;
    let decisions = work(py, || {
        Ok::<_, SignalError>(match (method, weights) {
            ("statistical", _) => {
                Some(StatisticalVad::new(rate, StatisticalSettings::default())?.decide(signal)?)
            }
            ("periodicity", _) => Some(PeriodicityVad::new(rate)?.decide(signal)),
            ("webrtc", _) => Some(WebrtcVad::decide(signal, rate, mode, FrameMillis::Ten)?),
            ("energy", _) => {
                let hop = (rate as usize / 100).max(1);
                Some(EnergyVad::new(margin_db).decide(signal, hop))
            }
            ("net", _) => {
                let threshold = threshold.unwrap_or(NetVad::THRESHOLD);
                Some(NetVad::new(rate, threshold)?.decide(signal))
            }
            ("neural", Some(weights)) => {
                let network = SileroNetwork::new(&Weights::read(&weights)?)?;
                let settings =
                    threshold.map_or_else(NeuralSettings::default, NeuralSettings::from_threshold);
                Some(NeuralVad::new(&network, rate, settings)?.decide(signal))
            }
            _ => None,
        })
    });
    decisions?.map(Array::line).ok_or_else(|| {
        PyValueError::new_err(format!(
            "method = `{method}` cannot be used: `statistical`, `periodicity`, `energy`, `webrtc`, `net`, and `neural` \
             with the `weights` of its network are known"
        ))
    })
}

/// How much WebRTC's detector doubts.
pub(super) fn webrtc_mode(aggressiveness: u8) -> PyResult<WebrtcMode> {
    match aggressiveness {
        0 => Ok(WebrtcMode::Quality),
        1 => Ok(WebrtcMode::LowBitrate),
        2 => Ok(WebrtcMode::Aggressive),
        3 => Ok(WebrtcMode::VeryAggressive),
        other => Err(PyValueError::new_err(format!(
            "aggressiveness = {other} cannot be used: it goes from 0 to 3"
        ))),
    }
}

/// A picture as Python names it: `lanes`, `width`, `height`, whether frequencies lie as an ear tells them apart,
/// `fmax` and `range_db`.
#[derive(FromPyObject)]
pub(crate) struct Drawing(Vec<String>, Option<usize>, usize, bool, Option<f64>, f32);

impl Drawing {
    fn settings(self) -> PyResult<PictureSettings> {
        let lane = |name: &String| match name.as_str() {
            "wave" => Ok(Lane::Wave),
            "spectrogram" => Ok(Lane::Spectrogram),
            "pitch" => Ok(Lane::Pitch),
            "speech" => Ok(Lane::Speech),
            other => Err(PyValueError::new_err(format!(
                "there is no lane `{other}`: wave, spectrogram, pitch and speech are known"
            ))),
        };
        Ok(PictureSettings {
            lanes: self.0.iter().map(lane).collect::<PyResult<_>>()?,
            width: self.1,
            height: self.2,
            scale: match self.3 {
                true => FrequencyScale::Mel,
                false => FrequencyScale::Linear,
            },
            highest_hz: self.4,
            range_db: self.5,
        })
    }
}

/// Lanes of a signal over one axis of time: the bytes of a `png`, `svg` or `html` file.
#[pyfunction]
pub(crate) fn picture<'py>(
    py: Python<'py>,
    signal: Samples<'_>,
    rate: u32,
    kind: &str,
    title: &str,
    drawing: Drawing,
) -> PyResult<Bound<'py, PyBytes>> {
    let (signal, settings) = (signal.finite()?, drawing.settings()?);
    let drawn = work(py, || Picture::of(signal, rate, title, &settings))?;
    let bytes = match kind {
        "png" => drawn.png()?,
        "svg" => drawn.svg()?.into_bytes(),
        "html" => drawn.page(signal, rate)?.into_bytes(),
        other => {
            return Err(PyValueError::new_err(format!(
                "there is no picture `{other}`: `png`, `svg` and `html` are known"
            )));
        }
    };
    Ok(PyBytes::new(py, &bytes))
}
