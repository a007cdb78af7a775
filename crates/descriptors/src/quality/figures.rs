//! All figures of a voice's quality at once, as Praat computes them with its standard settings.

use warpsmith_voice::{PitchRange, PraatSettings, PrecisePraat, Result, SignalError};

use super::{
    Harmonicity, HarmonicitySettings, Perturbation, ProminenceSettings, Vibrato,
    cepstral_prominence, find_pulses, find_vibrato,
};

/// Praat's step between frames of pitch, over the longest period.
pub const PITCH_STEP: f64 = 0.75;

/// A figure's name, and its value where the voice has one.
pub type Figure = (&'static str, Option<f64>);

/// The figures of a signal whose voice lies in a range.
pub fn quality_figures(signal: &[f32], sample_rate: u32, range: PitchRange) -> Result<Vec<Figure>> {
    if !(range.low_hz > 0.0 && range.low_hz.is_finite()) {
        return Err(SignalError::parameter(
            "lowest frequency",
            range.low_hz,
            "a number above 0 is needed",
        ));
    }
    let step = PITCH_STEP / range.low_hz;
    let praat = PrecisePraat::new(sample_rate, step, range, PraatSettings::default())?;
    let track = praat.track(signal);
    let pulses = find_pulses(signal, sample_rate, &track);
    let perturbation = Perturbation::measure(signal, sample_rate, &pulses);
    let mut pitches: Vec<f32> = track.frequency.clone();
    pitches.retain(|hz| *hz > 0.0);
    pitches.sort_unstable_by(f32::total_cmp);
    let harmonicity = HarmonicitySettings {
        low_hz: range.low_hz,
        ..HarmonicitySettings::default()
    };
    let crossed = Harmonicity::measure(signal, sample_rate, harmonicity)?.mean_db();
    let whole = PitchRange {
        high_hz: f64::from(sample_rate) / 2.0,
        ..range
    };
    let settings = PraatSettings::harmonicity();
    let mut own = PrecisePraat::new(sample_rate, harmonicity.step, whole, settings)?.track(signal);
    // Frames without any periodicity have no ratio; Praat's mean leaves them out too.
    own.strength.retain(|strength| *strength > 0.0);
    let own: Vec<f64> = own.harmonicity_db().into_iter().map(f64::from).collect();
    let prominence = cepstral_prominence(signal, sample_rate, ProminenceSettings::default())?;
    let vibratos: Vec<_> = find_vibrato(&track.frequency, step)
        .into_iter()
        .flatten()
        .collect();
    let of_vibrato = |part: fn(&Vibrato) -> f64| mean(vibratos.iter().map(part));
    let of_periods = |part: fn(&Perturbation) -> f64| perturbation.as_ref().map(part);
    let median = pitches.get(pitches.len() / 2);
    let frames = track.frequency.len();
    Ok(vec![
        ("pitch_median_hz", median.map(|hz| f64::from(*hz))),
        (
            "voiced_share",
            (frames > 0).then(|| pitches.len() as f64 / frames as f64),
        ),
        ("jitter_local", of_periods(|p| p.jitter_local)),
        ("jitter_absolute_s", of_periods(|p| p.jitter_absolute)),
        ("jitter_rap", of_periods(|p| p.jitter_rap)),
        ("jitter_ppq5", of_periods(|p| p.jitter_ppq5)),
        ("shimmer_local", of_periods(|p| p.shimmer_local)),
        ("shimmer_db", of_periods(|p| p.shimmer_db)),
        ("shimmer_apq3", of_periods(|p| p.shimmer_apq3)),
        ("shimmer_apq5", of_periods(|p| p.shimmer_apq5)),
        ("shimmer_apq11", of_periods(|p| p.shimmer_apq11)),
        ("hnr_db", crossed),
        ("hnr_ac_db", mean(own.iter().copied())),
        ("cpps_db", prominence),
        ("vibrato_rate_hz", of_vibrato(|v| v.rate_hz)),
        ("vibrato_depth_cents", of_vibrato(|v| v.depth_cents)),
    ])
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let count = values.len();
    (count > 0).then(|| values.sum::<f64>() / count as f64)
}
