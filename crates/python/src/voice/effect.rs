//! From sound to sound.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use warpsmith_voice::effect::{DenoiseSettings, Denoiser, GriffinLim, StretchSettings};
use warpsmith_voice::signal::{
    Biquad, Cascade, Convolver, LevelTarget, Reverb, ReverbSettings, TrimSettings,
};
use warpsmith_voice::{Audio, SignalError, check_room};

use super::{Array, Frames, Samples, refused, work};

/// A signal at so many times its speed.
#[pyfunction]
pub(crate) fn time_stretch(
    py: Python<'_>,
    signal: Samples<'_>,
    speed: f64,
    transform: usize,
    hop: usize,
) -> PyResult<Array> {
    let signal = signal.finite()?;
    let settings = StretchSettings { transform, hop };
    work(py, || {
        warpsmith_voice::effect::time_stretch(signal, speed, settings)
    })
    .map(Array::line)
}

/// A signal so many semitones higher.
#[pyfunction]
pub(crate) fn pitch_shift(
    py: Python<'_>,
    signal: Samples<'_>,
    semitones: f64,
    transform: usize,
    hop: usize,
) -> PyResult<Array> {
    let signal = signal.finite()?;
    let settings = StretchSettings { transform, hop };
    work(py, || {
        warpsmith_voice::effect::pitch_shift(signal, semitones, settings)
    })
    .map(Array::line)
}

/// The first sample that is not silence, and the one after the last.
#[pyfunction]
pub(crate) fn trim(
    py: Python<'_>,
    signal: Samples<'_>,
    range_db: f32,
    frame: usize,
    hop: usize,
) -> PyResult<(usize, usize)> {
    let signal = signal.finite()?;
    let settings = TrimSettings {
        range_db,
        frame,
        hop,
    };
    let kept = work(py, || warpsmith_voice::signal::trim(signal, settings))?;
    Ok((kept.start, kept.end))
}

/// The signal of so many samples whose magnitudes are near the given ones.
#[pyfunction]
pub(crate) fn griffin_lim(
    py: Python<'_>,
    magnitudes: Samples<'_>,
    frames: Frames,
    count: usize,
    iterations: usize,
    momentum: f32,
    seed: u64,
) -> PyResult<Array> {
    let magnitudes = magnitudes.finite()?;
    let settings = frames.spectrum()?;
    let rounds = GriffinLim {
        iterations,
        momentum,
        seed,
    };
    let signal = work(py, || {
        check_room("the signal", count, 4 * size_of::<f32>())?;
        rounds.reconstruct(magnitudes, settings, count)
    });
    signal.map(Array::line)
}

/// A signal without its steady noise; `noise` names samples that hold nothing else.
#[pyfunction]
pub(crate) fn denoise(
    py: Python<'_>,
    signal: Samples<'_>,
    rate: u32,
    reduction_db: f64,
    margin_db: f64,
    noise: Option<(usize, usize)>,
) -> PyResult<Array> {
    let signal = signal.finite()?;
    let settings = DenoiseSettings {
        reduction_db,
        margin_db,
    };
    let noise = noise.map(|(start, end)| start..end);
    work(py, || Denoiser::new(rate, settings)?.process(signal, noise)).map(Array::line)
}

/// The sum that undoes pre-emphasis, from silence on.
#[pyfunction]
pub(crate) fn deemphasise(
    py: Python<'_>,
    signal: Samples<'_>,
    coefficient: f32,
) -> PyResult<Array> {
    let mut sound = signal.finite()?.to_vec();
    let sound = work(py, move || {
        warpsmith_voice::signal::deemphasise(&mut sound, coefficient, 0.0);
        Ok(sound)
    });
    sound.map(Array::line)
}

/// A signal in a room, with what of the room is heard after its end.
#[pyfunction]
pub(crate) fn reverb(
    py: Python<'_>,
    signal: Samples<'_>,
    rate: u32,
    decay_seconds: f64,
    size: f64,
    damping: f64,
    wet: f64,
) -> PyResult<Array> {
    let signal = signal.finite()?;
    let settings = ReverbSettings {
        decay_seconds,
        size,
        damping,
        wet,
    };
    let sound = work(py, || {
        let mut room = Reverb::new(rate, settings)?;
        let count = signal.len().saturating_add(room.tail());
        check_room("the signal with its room", count, size_of::<f32>())?;
        let mut sound = vec![0.0; count];
        sound[..signal.len()].copy_from_slice(signal);
        room.process(&mut sound);
        Ok(sound)
    });
    sound.map(Array::line)
}

/// The convolution of a signal with a response.
#[pyfunction]
pub(crate) fn convolve(
    py: Python<'_>,
    signal: Samples<'_>,
    response: Samples<'_>,
) -> PyResult<Array> {
    let (signal, response) = (signal.finite()?, response.finite()?);
    let sound = work(py, || {
        let count = signal.len().saturating_add(16 * response.len());
        check_room("the convolution", count, 2 * size_of::<f32>())?;
        Ok(Convolver::new(response)?.convolve(signal))
    });
    sound.map(Array::line)
}

/// A section by its kind.
pub(super) fn section(kind: &str, rate: u32, hertz: f64, q: f64, gain_db: f64) -> PyResult<Biquad> {
    let section = match kind {
        "lowpass" => Biquad::low_pass(rate, hertz, q),
        "highpass" => Biquad::high_pass(rate, hertz, q),
        "bandpass" => Biquad::band_pass(rate, hertz, q),
        "notch" => Biquad::notch(rate, hertz, q),
        "allpass" => Biquad::all_pass(rate, hertz, q),
        "peaking" => Biquad::peaking(rate, hertz, q, gain_db),
        "lowshelf" => Biquad::low_shelf(rate, hertz, q, gain_db),
        "highshelf" => Biquad::high_shelf(rate, hertz, q, gain_db),
        other => {
            return Err(PyValueError::new_err(format!(
                "kind = `{other}` cannot be used: lowpass, highpass, bandpass, notch, allpass, peaking, \
                 lowshelf and highshelf are known"
            )));
        }
    };
    section.map_err(refused)
}

/// A signal through a filter of second order.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn biquad(
    py: Python<'_>,
    signal: Samples<'_>,
    kind: &str,
    rate: u32,
    hertz: f64,
    q: f64,
    gain_db: f64,
) -> PyResult<Array> {
    let signal = signal.finite()?;
    let section = section(kind, rate, hertz, q, gain_db)?;
    let sound = work(py, || {
        let mut sound = signal.to_vec();
        Cascade::new(vec![section]).process(&mut sound);
        Ok::<_, SignalError>(sound)
    });
    sound.map(Array::line)
}

/// A signal through a recursive filter of any order; with `clamp`, within full scale.
#[pyfunction]
pub(crate) fn lfilter(
    py: Python<'_>,
    signal: Samples<'_>,
    a: Vec<f64>,
    b: Vec<f64>,
    clamp: bool,
) -> PyResult<Array> {
    let signal = signal.finite()?;
    let sound = work(py, || {
        let mut sound = signal.to_vec();
        warpsmith_voice::signal::filter_recursively(&mut sound, &a, &b)?;
        if clamp {
            for sample in &mut sound {
                *sample = sample.clamp(-1.0, 1.0);
            }
        }
        Ok::<_, SignalError>(sound)
    });
    sound.map(Array::line)
}

/// Channels with one gain, so that they have a level: `peak` and `rms` in dBFS, `lufs`.
#[pyfunction]
pub(crate) fn normalise(
    py: Python<'_>,
    channels: Samples<'_>,
    rate: u32,
    measure: &str,
    level: f64,
) -> PyResult<(Array, f64)> {
    let target = match measure {
        "peak" => LevelTarget::Peak(level),
        "rms" => LevelTarget::Rms(level),
        "lufs" => LevelTarget::Lufs(level),
        other => {
            return Err(PyValueError::new_err(format!(
                "measure = `{other}` cannot be used: `peak`, `rms` and `lufs` are known"
            )));
        }
    };
    let mut audio = audio_of(&channels, rate)?;
    let gain = work(py, || {
        let gain = warpsmith_voice::signal::normalise(&mut audio, target)?;
        Ok((audio.channels.concat(), gain))
    });
    let (sound, gain) = gain?;
    Ok((Array::of(sound, channels.shape()), gain))
}

/// `(channels, samples)` or one channel as audio.
pub(super) fn audio_of(channels: &Samples<'_>, rate: u32) -> PyResult<Audio> {
    let values = channels.finite()?;
    let length = channels.shape().last().copied().unwrap_or(0).max(1);
    Ok(Audio {
        sample_rate: rate,
        channels: values.chunks_exact(length).map(<[f32]>::to_vec).collect(),
    })
}
