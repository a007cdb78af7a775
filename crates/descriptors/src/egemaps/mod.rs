//! Eighty-eight numbers that describe a voice: eGeMAPSv02 (Eyben et al., 2016, *The Geneva Minimalistic Acoustic
//! Parameter Set*) with openSMILE's names, units and numbers.
//!
//! The set is what openSMILE computes: its pitch by subharmonic summation and a path through candidates, formants by
//! linear prediction, and periods that are followed from frame to frame. Where its program and its paper differ, the
//! program counts: so do the frames at the end whose pitch it has not decided, which it leaves out.

mod contour;
mod formants;
mod functionals;
mod harmonics;
mod names;
mod octaves;
mod path;
mod periods;
mod spectral;
mod subharmonics;
mod summary;
mod voiced;

use warpsmith_signal::{InMemory, Kept, Recording, ResampleStream};
use warpsmith_voice::signal::{Quality, Resampler};
use warpsmith_voice::{Result, SignalError};

use spectral::Spectral;
use summary::Summary;
use voiced::Voiced;

pub use names::NAMES;

/// The rate that the set is computed at, Hz.
pub const RATE: u32 = 16_000;
/// Features of a recording.
pub const FEATURES: usize = NAMES.len();
/// The shortest recording: one frame of the pitch and a neighbour for its smoothing.
const SHORTEST: usize = 1280;

/// The features of a signal in the order of [`NAMES`]; sound of another rate than [`RATE`] is resampled.
pub fn summarise(signal: &[f32], sample_rate: u32) -> Result<Vec<f64>> {
    summarise_of(&InMemory {
        signal,
        sample_rate,
    })
}

/// The features of a recording, which is heard once; of every frame pitch and loudness are kept.
pub fn summarise_of(recording: &dyn Recording) -> Result<Vec<f64>> {
    let mut set = Set::new();
    let sample_rate = recording.sample_rate();
    if sample_rate == RATE {
        recording.hear(&mut |piece| {
            set.hear(piece);
            Ok(())
        })?;
        return set.finish();
    }
    let mut stream = ResampleStream::new(Resampler::new(sample_rate, RATE, Quality::High)?);
    let mut resampled = Vec::new();
    recording.hear(&mut |piece| {
        stream.process(piece, &mut resampled);
        set.hear(&resampled);
        resampled.clear();
        Ok(())
    })?;
    stream.finish(&mut resampled);
    set.hear(&resampled);
    set.finish()
}

/// The set of a signal that arrives.
struct Set {
    signal: Kept<f32>,
    spectral: Spectral,
    voiced: Voiced,
    summary: Summary,
}

impl Set {
    fn new() -> Self {
        Self {
            signal: Kept::default(),
            spectral: Spectral::new(),
            voiced: Voiced::new(),
            summary: Summary::default(),
        }
    }

    fn hear(&mut self, piece: &[f32]) {
        // In small steps: what waits for the pitch is kept of each frame.
        for piece in piece.chunks(1 << 12) {
            self.signal.push(piece);
            let Self {
                signal,
                spectral,
                voiced,
                summary,
            } = self;
            spectral.process(signal, |frame| summary.add(frame));
            let (formants, frames) = summary.waiting();
            voiced.process(signal, formants, |frame| frames.add(frame));
            signal.forget(spectral.needs().min(voiced.needs()));
        }
    }

    fn finish(mut self) -> Result<Vec<f64>> {
        if self.signal.end() < SHORTEST {
            return Err(SignalError::parameter(
                "length",
                format!("{} samples", self.signal.end()),
                "the set needs 80 ms of sound",
            ));
        }
        let (formants, frames) = self.summary.waiting();
        self.voiced
            .finish(&self.signal, formants, |frame| frames.add(frame));
        Ok(self.summary.finish(self.spectral.mean_square()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn voice(seconds: f64, hertz: f64, rate: u32) -> Vec<f32> {
        (0..(seconds * f64::from(rate)) as usize)
            .map(|n| {
                let t = n as f64 / f64::from(rate);
                let phase = std::f64::consts::TAU * hertz * t;
                let sum: f64 = (1..20)
                    .map(|k| (f64::from(k) * phase).sin() / f64::from(k))
                    .sum();
                // Half a second of voice, half a second of almost nothing.
                let on = if t.fract() < 0.5 { 0.2 } else { 0.0001 };
                (on * sum) as f32
            })
            .collect()
    }

    fn of(features: &[f64], name: &str) -> f64 {
        features[NAMES.iter().position(|known| *known == name).unwrap()]
    }

    #[test]
    fn a_tone_of_known_pitch_is_described_by_name() {
        let features = summarise(&voice(4.0, 110.0, RATE), RATE).unwrap();
        assert_eq!(features.len(), 88);
        assert!(features.iter().all(|value| value.is_finite()));
        let tone = of(&features, "F0semitoneFrom27.5Hz_sma3nz_amean");
        assert!((tone - 24.0).abs() < 0.1, "{tone}");
        let runs = of(&features, "VoicedSegmentsPerSec");
        assert!((0.75..=1.1).contains(&runs), "{runs}");
        let steady = of(&features, "jitterLocal_sma3nz_amean");
        assert!(steady < 0.01, "{steady}");
        assert!(of(&features, "HNRdBACF_sma3nz_amean") > 5.0);
        // Twice as loud is 6 dB more.
        let louder: Vec<f32> = voice(4.0, 110.0, RATE).iter().map(|x| 2.0 * x).collect();
        let louder = summarise(&louder, RATE).unwrap();
        let name = "equivalentSoundLevel_dBp";
        assert!((of(&louder, name) - of(&features, name) - 6.0206).abs() < 1e-3);
    }

    #[test]
    fn another_rate_is_resampled_and_silence_is_finite() {
        let at_44 = summarise(&voice(3.0, 200.0, 44_100), 44_100).unwrap();
        let at_16 = summarise(&voice(3.0, 200.0, RATE), RATE).unwrap();
        for name in [
            "F0semitoneFrom27.5Hz_sma3nz_amean",
            "loudness_sma3_percentile80.0",
            "equivalentSoundLevel_dBp",
        ] {
            let (a, b) = (of(&at_44, name), of(&at_16, name));
            assert!((a / b - 1.0).abs() < 0.03, "{name}: {a}, {b}");
        }
        let silent = summarise(&[0.0; 16_000], RATE).unwrap();
        assert!(silent.iter().all(|value| value.is_finite()), "{silent:?}");
        let short = summarise(&[0.0; 500], RATE).unwrap_err().to_string();
        assert!(short.contains("80 ms"), "{short}");
    }
}
