//! Music from a seed, as bytes of 32-bit floats; Python turns them into arrays.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use warpsmith_synth::midi_file::midi_file;
use warpsmith_synth::{Key, Mode, ParamError, Params, Preset, Stream, StreamSettings, compose};

/// The longest piece in one array: an hour, 1.4 GB of samples.
const LONGEST_SECONDS: f64 = 3600.0;

fn refused(error: ParamError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The preset's parameters with what was named changed, all inside their ranges.
fn params(preset: &str, words: &Words, changes: &[(String, f32)]) -> Result<Params, ParamError> {
    let mut params = Params::preset(preset.parse::<Preset>()?);
    if let Some(key) = &words.0 {
        params.key = key.parse::<Key>()?;
    }
    if let Some(mode) = &words.1 {
        params.mode = mode.parse::<Mode>()?;
    }
    for (name, value) in changes {
        let known = Params::RANGES.iter().position(|range| range.0 == name);
        if let Some(index) = known {
            *params.numbers_mut()[index] = *value;
        }
    }
    params.validate()?;
    Ok(params)
}

/// Key and mode, where they are given.
type Words = (Option<String>, Option<String>);

fn frames(seconds: f64, rate: u32) -> PyResult<u64> {
    if !(seconds > 0.0 && seconds <= LONGEST_SECONDS) {
        return Err(PyValueError::new_err(format!(
            "seconds is {seconds}; it is above 0 and at most {LONGEST_SECONDS}"
        )));
    }
    Ok((seconds * f64::from(rate)).round() as u64)
}

/// Stereo samples, left and right in turn, as 32-bit floats.
#[pyfunction]
pub(crate) fn render_music<'py>(
    py: Python<'py>,
    seed: u64,
    seconds: f64,
    rate: u32,
    preset: &str,
    words: Words,
    changes: Vec<(String, f32)>,
) -> PyResult<Bound<'py, PyBytes>> {
    let frames = frames(seconds, rate)?;
    let params = params(preset, &words, &changes).map_err(refused)?;
    let settings = StreamSettings {
        sample_rate: rate,
        ..StreamSettings::default()
    };
    let mut stream = Stream::with_settings(seed, params, settings).map_err(refused)?;
    let samples = py.detach(|| {
        let mut samples = vec![0f32; 2 * frames as usize];
        for block in samples.chunks_mut(2 * rate as usize) {
            stream.render_into(block);
        }
        samples
    });
    Ok(PyBytes::new(py, bytemuck::cast_slice(&samples)))
}

/// The notes of the same music as a MIDI file.
#[pyfunction]
pub(crate) fn compose_midi<'py>(
    py: Python<'py>,
    seed: u64,
    seconds: f64,
    preset: &str,
    words: Words,
    changes: Vec<(String, f32)>,
) -> PyResult<Bound<'py, PyBytes>> {
    const RATE: u32 = 48_000;
    let frames = frames(seconds, RATE)?;
    let params = params(preset, &words, &changes).map_err(refused)?;
    let file = py.detach(|| midi_file(&compose(seed, &params, RATE, frames), &params, seed, RATE));
    Ok(PyBytes::new(py, &file))
}
