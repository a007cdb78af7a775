//! Audio analysis over bytes of 32-bit floats; Python turns them into arrays.

mod effect;
mod file;
mod pitch;
mod shape;
mod spectrum;
mod speech;

use std::io::ErrorKind;

use pyo3::exceptions::{PyFileNotFoundError, PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use warpsmith_voice::{
    Conditioning, Framing, Padding, SignalError, SpectrumSettings, Symmetry, Window, check_finite,
};

/// Adds all functions to the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(file::read_audio, module)?)?;
    module.add_function(wrap_pyfunction!(file::resample, module)?)?;
    module.add_function(wrap_pyfunction!(spectrum::stft, module)?)?;
    module.add_function(wrap_pyfunction!(spectrum::istft, module)?)?;
    module.add_function(wrap_pyfunction!(spectrum::mel, module)?)?;
    module.add_function(wrap_pyfunction!(spectrum::mel_bank, module)?)?;
    module.add_function(wrap_pyfunction!(spectrum::preset_rate, module)?)?;
    module.add_function(wrap_pyfunction!(spectrum::preset_features, module)?)?;
    module.add_function(wrap_pyfunction!(spectrum::delta, module)?)?;
    module.add_function(wrap_pyfunction!(spectrum::constant_q, module)?)?;
    module.add_function(wrap_pyfunction!(spectrum::chroma, module)?)?;
    module.add_function(wrap_pyfunction!(pitch::yin, module)?)?;
    module.add_function(wrap_pyfunction!(pitch::pyin, module)?)?;
    module.add_function(wrap_pyfunction!(pitch::pitch, module)?)?;
    module.add_function(wrap_pyfunction!(shape::levels, module)?)?;
    module.add_function(wrap_pyfunction!(shape::spectral_shape, module)?)?;
    module.add_function(wrap_pyfunction!(shape::spectral_contrast, module)?)?;
    module.add_function(wrap_pyfunction!(shape::onset_strength, module)?)?;
    module.add_function(wrap_pyfunction!(shape::onset_frames, module)?)?;
    module.add_function(wrap_pyfunction!(effect::time_stretch, module)?)?;
    module.add_function(wrap_pyfunction!(effect::pitch_shift, module)?)?;
    module.add_function(wrap_pyfunction!(effect::trim, module)?)?;
    module.add_function(wrap_pyfunction!(effect::griffin_lim, module)?)?;
    module.add_function(wrap_pyfunction!(effect::denoise, module)?)?;
    module.add_function(wrap_pyfunction!(speech::loudness, module)?)?;
    module.add_function(wrap_pyfunction!(speech::speech, module)?)?;
    module.add_function(wrap_pyfunction!(speech::speech_segments, module)?)?;
    module.add_function(wrap_pyfunction!(speech::formants, module)?)?;
    Ok(())
}

/// The exception that a Python user expects.
fn refused(error: SignalError) -> PyErr {
    let text = |error: &SignalError| error.to_string();
    match &error {
        SignalError::Argument(_)
        | SignalError::BadSample { .. }
        | SignalError::CutShort { .. }
        | SignalError::Decode { .. } => PyValueError::new_err(text(&error)),
        SignalError::TooLarge { .. } => PyMemoryError::new_err(text(&error)),
        SignalError::Io { source, .. } => {
            let said = format!("{error}: {source}");
            match source.kind() {
                ErrorKind::NotFound => PyFileNotFoundError::new_err(said),
                _ => PyOSError::new_err(said),
            }
        }
    }
}

/// The samples behind `bytes`, which need not be aligned.
fn floats(bytes: &[u8]) -> PyResult<Vec<f32>> {
    let (samples, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(PyValueError::new_err("the samples are not 32-bit floats"));
    }
    Ok(samples
        .iter()
        .map(|sample| f32::from_ne_bytes(*sample))
        .collect())
}

/// A signal, all of whose samples are finite.
fn samples(bytes: &[u8]) -> PyResult<Vec<f32>> {
    let signal = floats(bytes)?;
    check_finite(&signal).map_err(refused)?;
    Ok(signal)
}

/// Values as bytes that Python may write to.
fn bytes<'py>(py: Python<'py>, values: &[f32]) -> Bound<'py, PyByteArray> {
    PyByteArray::new(py, bytemuck::cast_slice(values))
}

/// Complex values, likewise.
fn complex<'py>(py: Python<'py>, values: &[[f32; 2]]) -> Bound<'py, PyByteArray> {
    PyByteArray::new(py, bytemuck::cast_slice(values))
}

/// Frames as Python names them: `n_fft`, `hop_length`, `win_length`, the window with its shape, and what
/// lies beyond the ends.
#[derive(FromPyObject)]
pub(crate) struct Frames(usize, usize, usize, String, f64, String);

impl Frames {
    fn spectrum(&self) -> PyResult<SpectrumSettings> {
        let Self(transform, hop, window_length, window, shape, beyond) = self;
        let window = match window.as_str() {
            "hann" => Window::Hann,
            "hamming" => Window::Hamming,
            "blackman" => Window::Blackman,
            "povey" => Window::Povey,
            "boxcar" => Window::Rectangular,
            "kaiser" => Window::Kaiser { beta: *shape },
            other => {
                return Err(PyValueError::new_err(format!(
                    "there is no window `{other}`: hann, hamming, blackman, povey, boxcar and ('kaiser', beta) \
                     are known"
                )));
            }
        };
        SpectrumSettings {
            framing: framing(*transform, *hop, beyond)?,
            transform: *transform,
            window,
            window_length: *window_length,
            symmetry: Symmetry::Periodic,
            conditioning: Conditioning::default(),
        }
        .checked()
        .map_err(refused)
    }
}

fn framing(length: usize, hop: usize, beyond: &str) -> PyResult<Framing> {
    let padding = match beyond {
        "inside" => Padding::Inside,
        "constant" => Padding::CentredZero,
        "reflect" => Padding::CentredReflect,
        other => {
            return Err(PyValueError::new_err(format!(
                "pad_mode = `{other}` cannot be used: `constant` and `reflect` are known"
            )));
        }
    };
    let framing = Framing {
        length,
        hop,
        padding,
    };
    framing.checked().map_err(refused)
}
