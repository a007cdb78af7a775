//! All figures of a voice's quality at once, as Praat computes them with its standard settings.

use warpsmith_signal::{InMemory, Recording};
use warpsmith_voice::{
    PitchRange, PraatLook, PraatSettings, PraatTrack, PrecisePraat, Result, SignalError,
};

use super::cepstral_prominence::ProminenceStream;
use super::harmonicity::HarmonicityStream;
use super::pulses::find_pulses_of;
use super::{HarmonicitySettings, Perturbation, ProminenceSettings, Vibrato, find_vibrato};

/// Praat's step between frames of pitch, over the longest period.
pub const PITCH_STEP: f64 = 0.75;

/// A figure's name, and its value where the voice has one.
pub type Figure = (&'static str, Option<f64>);

/// The figures of a signal whose voice lies in a range.
pub fn quality_figures(signal: &[f32], sample_rate: u32, range: PitchRange) -> Result<Vec<Figure>> {
    let recording = InMemory {
        signal,
        sample_rate,
    };
    quality_figures_of(&recording, range)
}

/// The figures of a recording, which is heard four times: how long and loud it is, what single frames say, where
/// pulses are, and how strong they are.
pub fn quality_figures_of(recording: &dyn Recording, range: PitchRange) -> Result<Vec<Figure>> {
    let sample_rate = recording.sample_rate();
    if !(range.low_hz > 0.0 && range.low_hz.is_finite()) {
        return Err(SignalError::parameter(
            "lowest frequency",
            range.low_hz,
            "a number above 0 is needed",
        ));
    }
    let step = PITCH_STEP / range.low_hz;
    let praat = PrecisePraat::new(sample_rate, step, range, PraatSettings::default())?;
    let mut look = PraatLook::default();
    recording.hear(&mut |piece| {
        look.hear(piece);
        Ok(())
    })?;
    let harmonicity = HarmonicitySettings {
        low_hz: range.low_hz,
        ..HarmonicitySettings::default()
    };
    let whole = PitchRange {
        high_hz: f64::from(sample_rate) / 2.0,
        ..range
    };
    let settings = PraatSettings::harmonicity();
    let own = PrecisePraat::new(sample_rate, harmonicity.step, whole, settings)?;
    let mut track = PraatTrack::default();
    let mut pitch = praat.second_look(look);
    let (mut own, mut ratios) = (own.second_look(look), Ratios::default());
    let (mut crossed, mut cross_mean) = (
        HarmonicityStream::new(look, sample_rate, harmonicity)?,
        Mean::default(),
    );
    let settings = ProminenceSettings::default();
    let mut prominence = ProminenceStream::new(look.samples(), sample_rate, settings)?;
    recording.hear(&mut |piece| {
        pitch.process(piece, &mut track);
        own.process(piece, &mut ratios.track);
        ratios.take();
        crossed.process(piece, |_, decibels| {
            decibels.into_iter().for_each(|value| cross_mean.add(value));
        });
        prominence.process(piece);
        Ok(())
    })?;
    pitch.finish(&mut track);
    own.finish(&mut ratios.track);
    ratios.take();
    let pulses = find_pulses_of(recording, look, &track)?;
    let perturbation = Perturbation::measure_of(recording, &pulses)?;
    let mut pitches: Vec<f32> = track.frequency.clone();
    pitches.retain(|hz| *hz > 0.0);
    pitches.sort_unstable_by(f32::total_cmp);
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
        ("hnr_db", cross_mean.value()),
        ("hnr_ac_db", ratios.mean.value()),
        ("cpps_db", prominence.finish()),
        ("vibrato_rate_hz", of_vibrato(|v| v.rate_hz)),
        ("vibrato_depth_cents", of_vibrato(|v| v.depth_cents)),
    ])
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut mean = Mean::default();
    values.for_each(|value| mean.add(value));
    mean.value()
}

#[derive(Default)]
struct Mean {
    sum: f64,
    count: usize,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn value(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

/// Frames that have just been measured, and the mean of the ratios of those before.
#[derive(Default)]
struct Ratios {
    track: PraatTrack,
    mean: Mean,
}

impl Ratios {
    fn take(&mut self) {
        // Frames without any periodicity have no ratio; Praat's mean leaves them out too.
        self.track.strength.retain(|strength| *strength > 0.0);
        for decibels in self.track.harmonicity_db() {
            self.mean.add(f64::from(decibels));
        }
        self.track = PraatTrack::default();
    }
}
