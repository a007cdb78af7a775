//! How regular a voice is, and its resonances, as Praat defines them.

use pyo3::prelude::*;
use warpsmith_descriptors::quality::{
    Harmonicity, HarmonicitySettings, PITCH_STEP, Perturbation, ProminenceSettings, find_pulses,
    find_vibrato,
};
use warpsmith_voice::formants::{Formant, FormantSettings, FormantTracker};
use warpsmith_voice::{PitchRange, PraatSettings, PrecisePraat, check_room};

use super::pitch::range_of;
use super::{Array, Samples, work};

/// Times in seconds, and the frequencies and bandwidths of each frame's formants, `[formant, frame]`; NaN is
/// absent.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn formants(
    py: Python<'_>,
    signal: Samples<'_>,
    rate: u32,
    count: usize,
    ceiling_hz: f64,
    window_seconds: f64,
    hop_seconds: f64,
    emphasis_hz: f64,
) -> PyResult<(Array, Array, Array)> {
    let signal = signal.finite()?;
    let settings = FormantSettings {
        count,
        ceiling_hz,
        window_seconds,
        hop_seconds,
        emphasis_hz,
    };
    let seconds = signal.len() as f64 / f64::from(rate);
    let track = work(py, || {
        let resampled = (seconds * 2.0 * ceiling_hz) as usize;
        check_room(
            "the signal at twice the ceiling",
            resampled,
            2 * size_of::<f64>(),
        )?;
        Ok(FormantTracker::new(rate, settings)?.track(signal))
    })?;
    let span = track.len().saturating_sub(1) as f64 * hop_seconds;
    let first = (signal.len() as f64 / f64::from(rate) - span) / 2.0;
    let times = (0..track.len()).map(|frame| first + frame as f64 * hop_seconds);
    let matrix = |of: fn(&Formant) -> f32| {
        let values: Vec<f32> = (0..count)
            .flat_map(|n| {
                let frames = track.iter();
                frames.map(move |formants| formants.get(n).map_or(f32::NAN, of))
            })
            .collect();
        Array::of(values, &[count, track.len()])
    };
    Ok((
        Array::line(times.collect::<Vec<f64>>()),
        matrix(|formant| formant.frequency),
        matrix(|formant| formant.bandwidth),
    ))
}

/// Times of the voice's pulses, seconds, with the pitch that they follow: its step in seconds, and the frequency of
/// every frame, 0 where unvoiced.
#[pyfunction]
pub(crate) fn pulses(
    py: Python<'_>,
    signal: Samples<'_>,
    rate: u32,
    range: (f64, f64),
) -> PyResult<(Array, f64, Array)> {
    let signal = signal.finite()?;
    let range = range_of(range);
    let step = PITCH_STEP / range.low_hz;
    let found = work(py, || {
        let praat = PrecisePraat::new(rate, step, range, PraatSettings::default())?;
        let track = praat.track(signal);
        Ok((find_pulses(signal, rate, &track)?, track.frequency))
    });
    let (pulses, frequency) = found?;
    Ok((Array::line(pulses), step, Array::line(frequency)))
}

/// Jitter: local, absolute in seconds, rap, ppq5; shimmer: local, dB, apq3, apq5, apq11; and the pairs of
/// periods that were compared. NaN is absent.
#[pyfunction]
pub(crate) fn perturbation(
    py: Python<'_>,
    signal: Samples<'_>,
    rate: u32,
    pulses: Vec<f64>,
) -> PyResult<([f64; 9], usize)> {
    let signal = signal.finite()?;
    let measured = work(py, || Ok(Perturbation::measure(signal, rate, &pulses)))?;
    Ok(measured.map_or(([f64::NAN; 9], 0), |of| {
        let values = [
            of.jitter_local,
            of.jitter_absolute,
            of.jitter_rap,
            of.jitter_ppq5,
            of.shimmer_local,
            of.shimmer_db,
            of.shimmer_apq3,
            of.shimmer_apq5,
            of.shimmer_apq11,
        ];
        (values, of.periods)
    }))
}

/// Times in seconds and harmonics over noise in dB of every frame, NaN where nothing repeats itself: by
/// cross-correlation, or, with `by_itself`, by autocorrelation.
#[pyfunction]
pub(crate) fn harmonicity(
    py: Python<'_>,
    signal: Samples<'_>,
    rate: u32,
    low_hz: f64,
    step: f64,
    by_itself: bool,
) -> PyResult<(Array, Array)> {
    let signal = signal.finite()?;
    let settings = HarmonicitySettings {
        low_hz,
        step,
        ..HarmonicitySettings::default()
    };
    let found = work(py, || {
        if !by_itself {
            let found = Harmonicity::measure(signal, rate, settings)?;
            let values = found.decibels.iter();
            return Ok((
                found.seconds,
                values.map(|value| value.unwrap_or(f64::NAN)).collect(),
            ));
        }
        let range = PitchRange {
            low_hz,
            high_hz: f64::from(rate) / 2.0,
        };
        let praat = PrecisePraat::new(rate, step, range, PraatSettings::harmonicity())?;
        let track = praat.track(signal);
        let values = track.harmonicity_db().into_iter().zip(&track.strength);
        // Frames without any periodicity have no ratio.
        let values = values.map(|(db, strength)| match *strength > 0.0 {
            true => f64::from(db),
            false => f64::NAN,
        });
        Ok((track.seconds.clone(), values.collect::<Vec<f64>>()))
    });
    let (seconds, decibels) = found?;
    Ok((Array::line(seconds), Array::line(decibels)))
}

/// The smoothed prominence of the cepstral peak, dB; NaN where the signal is shorter than a window.
#[pyfunction]
pub(crate) fn cepstral_prominence(
    py: Python<'_>,
    signal: Samples<'_>,
    rate: u32,
    peak_hz: (f64, f64),
) -> PyResult<f64> {
    let signal = signal.finite()?;
    let settings = ProminenceSettings {
        peak_hz,
        ..ProminenceSettings::default()
    };
    let found = work(py, || {
        warpsmith_descriptors::quality::cepstral_prominence(signal, rate, settings)
    });
    Ok(found?.unwrap_or(f64::NAN))
}

/// Rate (Hz), depth (cents) and regularity of the vibrato around every frame of pitch, `[measure, frame]`; NaN where
/// there is none.
#[pyfunction]
pub(crate) fn vibrato(py: Python<'_>, frequency: Samples<'_>, hop_seconds: f64) -> PyResult<Array> {
    let frequency = frequency.floats();
    let found = work(py, || Ok(find_vibrato(frequency, hop_seconds)))?;
    let mut values = vec![f64::NAN; 3 * found.len()];
    for (frame, vibrato) in found.iter().enumerate() {
        if let Some(vibrato) = vibrato {
            values[frame] = vibrato.rate_hz;
            values[found.len() + frame] = vibrato.depth_cents;
            values[2 * found.len() + frame] = vibrato.regularity;
        }
    }
    Ok(Array::of(values, &[3, found.len()]))
}
