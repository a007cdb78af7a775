//! Rhythm and harmony of a recording: rises, tempo, beats, tempogram, key, tones and clicks.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use warpsmith_descriptors::key::{KeySettings, Mode, Profile, find_key};
use warpsmith_descriptors::rhythm::{Over, RhythmSettings, Tempogram, beats_at, envelope};
use warpsmith_descriptors::separation::SplitSettings;

use super::{Array, Samples, framing, work};

/// Tempo as Python names it: `hop_length`, `start_bpm`, `std_bpm`, `ac_size`, `max_tempo`, `tightness`, `trim`.
#[derive(FromPyObject)]
pub(crate) struct Rhythm(usize, f64, f64, f64, f64, f64, bool);

impl Rhythm {
    fn settings(&self) -> RhythmSettings {
        RhythmSettings {
            hop: self.0,
            start_bpm: self.1,
            spread_octaves: self.2,
            window_seconds: self.3,
            fastest_bpm: self.4,
            tightness: self.5,
            trim: self.6,
            ..RhythmSettings::default()
        }
    }
}

/// How much the level rises in every frame: the median over the bands, which beats are tracked in.
#[pyfunction]
pub(crate) fn median_rises(
    py: Python<'_>,
    signal: Samples<'_>,
    rate: u32,
    transform: usize,
    hop: usize,
) -> PyResult<Array> {
    let signal = signal.finite()?;
    framing(transform, hop, "constant")?;
    let settings = RhythmSettings {
        transform,
        hop,
        ..RhythmSettings::default()
    };
    work(py, || envelope(signal, rate, &settings, Over::Median)).map(Array::line)
}

/// The tempo of the rises of all frames, beats per minute; absent where nothing rises.
#[pyfunction]
pub(crate) fn tempo(
    py: Python<'_>,
    rises: Samples<'_>,
    rate: u32,
    rhythm: Rhythm,
) -> PyResult<Option<f64>> {
    let (rises, settings) = (rises.finite()?, rhythm.settings());
    work(py, || {
        warpsmith_descriptors::rhythm::tempo_of(rises, rate, &settings)
    })
}

/// The frames of the beats in the rises of all frames, at a tempo.
#[pyfunction]
pub(crate) fn beats(
    py: Python<'_>,
    rises: Samples<'_>,
    rate: u32,
    bpm: f64,
    rhythm: Rhythm,
) -> PyResult<Vec<usize>> {
    let (rises, settings) = (rises.finite()?, rhythm.settings());
    work(py, || beats_at(rises, bpm, rate, &settings))
}

/// How similar the rises around a frame are to themselves some frames later: values, frames and lags.
#[pyfunction]
pub(crate) fn tempogram(py: Python<'_>, rises: Samples<'_>, lags: usize) -> PyResult<Array> {
    let rises = rises.finite()?;
    let values = work(py, || Tempogram::new(lags)?.compute(rises))?;
    Ok(Array::of(values, &[rises.len(), lags]))
}

/// A key's tonic, whether it is major, and how well it fits.
type Fit = (usize, bool, f64);

/// All keys, the best first; the tuning in semitones from A4 = 440 Hz; shares of the pitch classes.
#[pyfunction]
pub(crate) fn key(
    py: Python<'_>,
    signal: Samples<'_>,
    rate: u32,
    profile: &str,
    tuning: Option<f64>,
) -> PyResult<(Vec<Fit>, f64, [f64; 12])> {
    let signal = signal.finite()?;
    let profile = match profile {
        "temperley" => Profile::Temperley,
        "krumhansl" => Profile::Krumhansl,
        other => {
            return Err(PyValueError::new_err(format!(
                "profile = `{other}` cannot be used: `temperley` and `krumhansl` are known"
            )));
        }
    };
    let heard = work(py, || {
        find_key(signal, rate, &KeySettings { profile, tuning })
    })?;
    let keys = heard.keys.iter();
    let keys = keys.map(|key| (key.tonic, key.mode == Mode::Major, key.correlation));
    Ok((keys.collect(), heard.tuning, heard.classes))
}

/// Medians and masks as Python names them: the frames and bins of `kernel_size`, `power`, both of `margin`.
#[derive(FromPyObject)]
pub(crate) struct Masks(usize, usize, f32, f32, f32);

/// The tones and the clicks of a signal.
#[pyfunction]
pub(crate) fn split_tones(
    py: Python<'_>,
    signal: Samples<'_>,
    transform: usize,
    hop: usize,
    masks: Masks,
) -> PyResult<(Array, Array)> {
    let signal = signal.finite()?;
    let settings = SplitSettings {
        transform,
        hop,
        harmonic_kernel: masks.0,
        percussive_kernel: masks.1,
        power: masks.2,
        harmonic_margin: masks.3,
        percussive_margin: masks.4,
    };
    // The split knows no seconds: any rate will do.
    let parts = work(py, || {
        warpsmith_descriptors::separation::split(signal, 22_050, &settings)
    })?;
    Ok((Array::line(parts.harmonic), Array::line(parts.percussive)))
}
