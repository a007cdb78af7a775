//! `warpsmith voice formants` and `quality`: the resonances of a voice, and how regular it is.

use anyhow::Result;
use clap::Args;
use warpsmith_voice::quality::{
    CepstralPeak, Formant, FormantSettings, FormantTracker, Perturbation, find_pulses, find_vibrato,
};
use warpsmith_voice::{PitchRange, PraatPitch, PraatSettings, formants_on_cuda};

use super::device::Task;
use super::input::Input;
use super::sheet::{Destination, Sheet};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;

/// Track the resonances of the vocal tract (Burg's linear prediction).
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith voice formants vowel.wav
  warpsmith voice formants vowel.wav --ceiling 5000 --count 5 --as npy --output formants.npy
  warpsmith voice formants *.wav --output formants --device cuda")]
pub(crate) struct Formants {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: Destination,
    /// Formants looked for.
    #[arg(long, default_value_t = FormantSettings::default().count)]
    count: usize,
    /// Highest frequency of a formant, Hz: 5000 for men, 5500 for women.
    #[arg(long, default_value_t = FormantSettings::default().ceiling_hz)]
    ceiling: f64,
}

impl Formants {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let settings = FormantSettings {
            count: self.count,
            ceiling_hz: self.ceiling,
            ..FormantSettings::default()
        };
        Task {
            workload: "voice/formants",
            input: &self.input,
            destination: &self.destination,
            fits: true,
            listener: None,
            rate: None,
        }
        .write_sheets(
            global,
            |signal, rate| {
                let track = FormantTracker::new(rate, settings)?.track(signal);
                Ok(self.sheet(&settings, &track, signal.len() as f64 / f64::from(rate)))
            },
            |gpu, rate, signals| {
                let tracks = formants_on_cuda(gpu, rate, settings, signals)?;
                let seconds = signals
                    .iter()
                    .map(|signal| signal.len() as f64 / f64::from(rate));
                let sheets = tracks.iter().zip(seconds);
                Ok(sheets
                    .map(|(track, seconds)| self.sheet(&settings, track, seconds))
                    .collect())
            },
        )
    }

    fn sheet(&self, settings: &FormantSettings, track: &[Vec<Formant>], seconds: f64) -> Sheet {
        let span = track.len().saturating_sub(1) as f64 * settings.hop_seconds;
        let mut columns = vec!["seconds".to_owned()];
        for n in 1..=self.count {
            columns.extend([format!("f{n}"), format!("b{n}")]);
        }
        let mut values = Vec::with_capacity(columns.len() * track.len());
        for (frame, formants) in track.iter().enumerate() {
            values.push((seconds - span) / 2.0 + frame as f64 * settings.hop_seconds);
            for n in 0..self.count {
                let formant = formants.get(n);
                values.push(formant.map_or(f64::NAN, |f| f64::from(f.frequency)));
                values.push(formant.map_or(f64::NAN, |f| f64::from(f.bandwidth)));
            }
        }
        Sheet::new(columns, values)
    }
}

/// Measure jitter, shimmer, harmonics-to-noise ratio, cepstral peak and vibrato of a voice.
#[derive(Args)]
#[command(after_long_help = "Example:\n  warpsmith voice quality vowel.wav --format json")]
pub(crate) struct QualityOf {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: Destination,
    /// Lowest frequency looked for, Hz.
    #[arg(long, default_value_t = 75.0)]
    low: f64,
    /// Highest frequency looked for, Hz.
    #[arg(long, default_value_t = 600.0)]
    high: f64,
}

impl QualityOf {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        self.destination.each(global, &self.input, |path| {
            let (signal, rate) = self.input.signal(path)?;
            self.sheet(&signal, rate)
        })
    }

    fn sheet(&self, signal: &[f32], rate: u32) -> Result<Sheet> {
        let range = PitchRange {
            low_hz: self.low,
            high_hz: self.high,
        };
        let hop = (rate as usize / 100).max(1);
        let track = PraatPitch::new(rate, hop, range, PraatSettings::default())?.track(signal);
        let pulses = find_pulses(signal, rate, &track);
        let perturbation = Perturbation::measure(signal, rate, &pulses);
        let voiced = |values: Vec<f32>| {
            let mut kept: Vec<f32> = values
                .into_iter()
                .zip(&track.frequency)
                .filter_map(|(value, hz)| (*hz > 0.0).then_some(value))
                .collect();
            kept.sort_unstable_by(f32::total_cmp);
            kept
        };
        let mean = |values: &[f32]| {
            let sum: f64 = values.iter().map(|x| f64::from(*x)).sum();
            sum / values.len() as f64
        };
        let pitches = voiced(track.frequency.clone());
        let whole = PitchRange {
            high_hz: f64::from(rate) / 2.0,
            ..range
        };
        let mut harmonicity =
            PraatPitch::new(rate, hop, whole, PraatSettings::harmonicity())?.track(signal);
        // Frames without any periodicity have no ratio; Praat's mean leaves them out too.
        harmonicity.strength.retain(|strength| *strength > 0.0);
        let harmonicity = harmonicity.harmonicity_db();
        let length = (rate as usize * 64 / 1000).next_power_of_two();
        let mut cepstral_peak = CepstralPeak::new(rate, length, range)?;
        let mut prominences = Vec::new();
        for (seconds, hz) in track.seconds.iter().zip(&track.frequency) {
            let centre = (seconds * f64::from(rate)) as usize;
            let start = centre.saturating_sub(length / 2);
            if let Some(frame) = signal.get(start..start + length).filter(|_| *hz > 0.0) {
                prominences.push(cepstral_peak.of_frame(frame)? as f32);
            }
        }
        let vibratos: Vec<_> = find_vibrato(&track.frequency, hop as f64 / f64::from(rate))
            .into_iter()
            .flatten()
            .collect();
        let of_vibrato = |part: fn(&warpsmith_voice::quality::Vibrato) -> f64| {
            let sum: f64 = vibratos.iter().map(part).sum();
            sum / vibratos.len() as f64
        };
        let share = |part: fn(&Perturbation) -> f64| perturbation.as_ref().map_or(f64::NAN, part);
        let median = pitches.get(pitches.len() / 2);
        let rows = [
            (
                "pitch_median_hz",
                median.map_or(f64::NAN, |hz| f64::from(*hz)),
            ),
            (
                "voiced_share",
                pitches.len() as f64 / track.frequency.len() as f64,
            ),
            ("jitter_local", share(|p| p.jitter_local)),
            ("jitter_rap", share(|p| p.jitter_rap)),
            ("shimmer_local", share(|p| p.shimmer_local)),
            ("hnr_db", mean(&harmonicity)),
            ("cpp_db", mean(&prominences)),
            ("vibrato_rate_hz", of_vibrato(|v| v.rate_hz)),
            ("vibrato_depth_cents", of_vibrato(|v| v.depth_cents)),
        ];
        Ok(Sheet::new(
            rows.iter().map(|(name, _)| (*name).to_owned()).collect(),
            rows.iter().map(|(_, value)| *value).collect(),
        ))
    }
}
