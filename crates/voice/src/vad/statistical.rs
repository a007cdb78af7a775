//! Voice activity by a likelihood ratio over frequency bands (Sohn, Kim and Sung 1999).
//!
//! The signal's own distribution gives the noise: a low percentile of each band's smoothed power, but
//! not less than a white noise `range_db` below the loud passages of the densest band, so that faint
//! sounds of a quiet recording, chairs and clicks, are not speech. This looks at the whole signal;
//! streams use [`super::EnergyVad`] or [`super::WebrtcVad`].

use super::segments::Bridging;
use crate::error::Result;
use crate::feature::{Compression, FeatureSettings};
use crate::mel::MelFeature;
use crate::mel_bank::{MelNorm, MelScale, MelSettings, MelSlope};
use crate::preset::{Preset, Sizes, Stage};

/// Bands between 100 Hz and 4 kHz.
const BANDS: usize = 12;
/// How much of the last frame's estimate of the speech-to-noise ratio is kept.
const MEMORY: f32 = 0.98;
/// Powers below count as this: −120 dBFS.
const FLOOR: f32 = 1e-12;

/// The choices of the detector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StatisticalSettings {
    /// Mean log likelihood ratio from which on a frame is speech.
    pub threshold: f32,
    /// How far below the loud passages noise is looked for, dB; a white noise that much below counts
    /// as there.
    pub range_db: f32,
    /// What is done to gaps and edges, in 10 ms frames.
    pub bridging: Bridging,
}

impl Default for StatisticalSettings {
    fn default() -> Self {
        Self {
            threshold: 0.5,
            range_db: 20.0,
            bridging: Bridging {
                gap: 150,
                pad: 20,
                shortest: 1,
            },
        }
    }
}

/// A planned detector; frames are 10 ms apart.
pub struct StatisticalVad {
    settings: StatisticalSettings,
    bands: MelFeature,
}

impl StatisticalVad {
    /// A detector for signals at `sample_rate`.
    pub fn new(sample_rate: u32, settings: StatisticalSettings) -> Result<Self> {
        let sizes = Sizes {
            filters: BANDS,
            ..Sizes::for_speech(sample_rate)
        };
        let base = Preset::Librosa.feature(sample_rate, sizes, Stage::Mel);
        let feature = FeatureSettings {
            compression: Compression::None,
            mel: MelSettings {
                filters: BANDS,
                low_hz: 100.0f64.min(f64::from(sample_rate) / 8.0),
                high_hz: Some(4000.0f64.min(f64::from(sample_rate) / 2.0)),
                scale: MelScale::Htk,
                norm: MelNorm::Peak,
                slope: MelSlope::Hertz,
            },
            ..base
        };
        Ok(Self {
            settings,
            bands: MelFeature::new(feature)?,
        })
    }

    /// The mean log likelihood ratio of each frame; 0 throughout for silence.
    pub fn ratios(&mut self, signal: &[f32]) -> Result<Vec<f32>> {
        let (_, frames) = self.bands.shape(signal.len());
        let powers = self.bands.compute(signal)?;
        let mut ratios = vec![0.0f32; frames];
        let noises = self.noises(&powers, frames);
        for (power, noise) in powers.chunks_exact(frames.max(1)).zip(noises) {
            let mut kept = 0.0f32;
            for (ratio, power) in ratios.iter_mut().zip(power) {
                let posterior = power.max(FLOOR) / noise;
                let prior = MEMORY * kept + (1.0 - MEMORY) * (posterior - 1.0).max(0.0);
                let gain = prior / (1.0 + prior);
                kept = gain * gain * posterior;
                *ratio += (posterior * gain - prior.ln_1p()) / BANDS as f32;
            }
        }
        Ok(ratios)
    }

    /// One decision to a 10 ms frame.
    pub fn decide(&mut self, signal: &[f32]) -> Result<Vec<bool>> {
        let ratios = self.ratios(signal)?;
        let raw: Vec<bool> = ratios
            .iter()
            .map(|ratio| *ratio > self.settings.threshold)
            .collect();
        Ok(self.settings.bridging.apply(&raw))
    }

    /// The noise power of each band.
    fn noises(&self, powers: &[f32], frames: usize) -> Vec<f32> {
        // What a white noise of density 1 has in a band.
        let widths = self.bands.bank().filters().iter();
        let widths: Vec<f32> = widths
            .map(|filter| filter.weights.iter().sum::<f32>().max(f32::MIN_POSITIVE))
            .collect();
        let levels: Vec<(f32, f32)> = powers
            .chunks_exact(frames.max(1))
            .map(quiet_and_loud)
            .collect();
        let density = levels
            .iter()
            .zip(&widths)
            .map(|((_, loud), width)| loud / width)
            .fold(0.0, f32::max);
        let white = density * 10f32.powf(-self.settings.range_db / 10.0);
        levels
            .iter()
            .zip(&widths)
            .map(|((quiet, _), width)| quiet.max(white * width).max(FLOOR))
            .collect()
    }
}

/// The tenth and the ninety-fifth percentile of a band's smoothed power.
fn quiet_and_loud(power: &[f32]) -> (f32, f32) {
    let mut state = 0.0f32;
    let mut smoothed: Vec<f32> = power
        .iter()
        .map(|power| {
            state = 0.8 * state + 0.2 * power.max(FLOOR);
            state
        })
        .collect();
    smoothed.sort_unstable_by(f32::total_cmp);
    let percentile = |share: usize| smoothed[(smoothed.len() - 1) * share / 100];
    (percentile(10), percentile(95))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_and_emptiness_hold_no_speech() {
        let mut vad = StatisticalVad::new(16_000, StatisticalSettings::default()).unwrap();
        assert!(
            vad.decide(&[0.0; 32_000])
                .unwrap()
                .iter()
                .all(|speech| !speech)
        );
        assert!(vad.decide(&[]).unwrap().is_empty());
    }

    #[test]
    fn odd_sample_rates_are_accepted() {
        for rate in [8_000, 11_025, 44_056, 96_000, 192_000] {
            let mut vad = StatisticalVad::new(rate, StatisticalSettings::default()).unwrap();
            let length = rate as usize;
            let signal: Vec<f32> = (0..length)
                .map(|n| {
                    let phase = n as f32 * 1200.0 / rate as f32;
                    let noise = ((n as u32).wrapping_mul(2_654_435_761) >> 8) as f32 / 16_777_216.0;
                    let on = (n / (length / 10)) % 2 == 1;
                    0.001 * noise + if on { 0.3 * phase.sin() } else { 0.0 }
                })
                .collect();
            assert!(
                vad.ratios(&signal)
                    .unwrap()
                    .iter()
                    .all(|ratio| ratio.is_finite())
            );
        }
    }
}
