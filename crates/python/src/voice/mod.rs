//! Audio analysis over arrays of 32-bit floats, which stay where they lie.

mod array;
mod effect;
mod file;
mod gpu;
mod music;
mod pitch;
mod plans;
mod quality;
mod settings;
mod shape;
mod spectrum;
mod speech;
mod stream;
mod summary;
mod work;

use std::io::ErrorKind;

use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyValueError};
use pyo3::prelude::*;
use warpsmith_voice::SignalError;

use array::{Array, Samples};
use settings::{Bank, Frames, framing};
use work::work;

/// Adds all functions to the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<array::Array>()?;
    module.add_class::<stream::SoundStream>()?;
    module.add_class::<work::StopSign>()?;
    module.add_function(wrap_pyfunction!(file::read_audio, module)?)?;
    module.add_function(wrap_pyfunction!(file::audio_length, module)?)?;
    module.add_function(wrap_pyfunction!(file::write_wav, module)?)?;
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
    module.add_function(wrap_pyfunction!(spectrum::estimate_tuning, module)?)?;
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
    module.add_function(wrap_pyfunction!(effect::deemphasise, module)?)?;
    module.add_function(wrap_pyfunction!(effect::reverb, module)?)?;
    module.add_function(wrap_pyfunction!(effect::convolve, module)?)?;
    module.add_function(wrap_pyfunction!(effect::biquad, module)?)?;
    module.add_function(wrap_pyfunction!(effect::lfilter, module)?)?;
    module.add_function(wrap_pyfunction!(effect::normalise, module)?)?;
    module.add_function(wrap_pyfunction!(speech::loudness, module)?)?;
    module.add_function(wrap_pyfunction!(speech::speech, module)?)?;
    module.add_function(wrap_pyfunction!(speech::picture, module)?)?;
    module.add_function(wrap_pyfunction!(quality::formants, module)?)?;
    module.add_function(wrap_pyfunction!(quality::pulses, module)?)?;
    module.add_function(wrap_pyfunction!(quality::perturbation, module)?)?;
    module.add_function(wrap_pyfunction!(quality::harmonicity, module)?)?;
    module.add_function(wrap_pyfunction!(quality::cepstral_prominence, module)?)?;
    module.add_function(wrap_pyfunction!(quality::vibrato, module)?)?;
    module.add_function(wrap_pyfunction!(music::median_rises, module)?)?;
    module.add_function(wrap_pyfunction!(music::tempo, module)?)?;
    module.add_function(wrap_pyfunction!(music::beats, module)?)?;
    module.add_function(wrap_pyfunction!(music::tempogram, module)?)?;
    module.add_function(wrap_pyfunction!(music::key, module)?)?;
    module.add_function(wrap_pyfunction!(music::split_tones, module)?)?;
    module.add_function(wrap_pyfunction!(summary::analyze, module)?)?;
    module.add_function(wrap_pyfunction!(summary::quality, module)?)?;
    module.add_function(wrap_pyfunction!(summary::egemaps, module)?)?;
    module.add_function(wrap_pyfunction!(summary::turns, module)?)?;
    module.add_function(wrap_pyfunction!(summary::speech_segments, module)?)?;
    module.add_class::<gpu::GpuValues>()?;
    module.add_function(wrap_pyfunction!(gpu::open_gpu, module)?)?;
    module.add_function(wrap_pyfunction!(gpu::gpu_stft, module)?)?;
    module.add_function(wrap_pyfunction!(gpu::gpu_mel, module)?)?;
    module.add_function(wrap_pyfunction!(gpu::gpu_chroma, module)?)?;
    module.add_function(wrap_pyfunction!(gpu::gpu_spectral_shape, module)?)?;
    module.add_function(wrap_pyfunction!(gpu::gpu_onset_strength, module)?)?;
    module.add_function(wrap_pyfunction!(gpu::gpu_yin, module)?)?;
    module.add_function(wrap_pyfunction!(gpu::gpu_pyin, module)?)?;
    module.add_function(wrap_pyfunction!(gpu::gpu_constant_q, module)?)?;
    module.add_function(wrap_pyfunction!(gpu::gpu_resample, module)?)?;
    Ok(())
}

/// The exception that a Python user expects.
fn refused(error: SignalError) -> PyErr {
    match &error {
        SignalError::Argument(_)
        | SignalError::BadSample { .. }
        | SignalError::CutShort { .. }
        | SignalError::TooLarge { .. }
        | SignalError::Decode { .. } => PyValueError::new_err(error.to_string()),
        SignalError::Io { source, .. } => {
            let said = format!("{error}: {source}");
            match source.kind() {
                ErrorKind::NotFound => PyFileNotFoundError::new_err(said),
                _ => PyOSError::new_err(said),
            }
        }
    }
}
