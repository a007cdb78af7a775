//! True peak after ITU-R BS.1770-4, annex 2: the largest magnitude of the signal at four times its rate.

use crate::audio::Audio;
use crate::error::Result;
use crate::{Quality, Resampler};

/// Rates from which on samples lie close enough together.
const DENSE_RATE: u32 = 176_400;

/// The true peak of all channels, dBTP; −∞ for silence.
pub(super) fn true_peak_db(audio: &Audio) -> Result<f64> {
    let rate = audio.sample_rate;
    let mut peak = audio
        .channels
        .iter()
        .flatten()
        .fold(0.0f32, |peak, x| peak.max(x.abs()));
    if rate < DENSE_RATE {
        let resampler = Resampler::new(rate, rate * 4, Quality::High)?;
        // Pieces with what the filter reaches on both sides: four times a whole file is not held.
        for channel in &audio.channels {
            for start in (0..channel.len()).step_by(PIECE) {
                let from = start.saturating_sub(REACH);
                let to = (start + PIECE + REACH).min(channel.len());
                let dense = resampler.process(&channel[from..to]);
                let inside = 4 * (start - from)..(4 * (start + PIECE - from)).min(dense.len());
                peak = dense[inside].iter().fold(peak, |peak, x| peak.max(x.abs()));
            }
        }
    }
    Ok(20.0 * f64::from(peak).log10())
}

/// Samples at a time, and samples that the filter needs around them.
const PIECE: usize = 1 << 15;
const REACH: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    fn audio(rate: u32, hertz: f64, phase: f64, samples: usize) -> Audio {
        let tone = (0..samples)
            .map(|n| {
                let turns = hertz * n as f64 / f64::from(rate) + phase;
                (0.5 * (std::f64::consts::TAU * turns).sin()) as f32
            })
            .collect();
        Audio {
            sample_rate: rate,
            channels: vec![tone],
        }
    }

    #[test]
    fn peaks_between_samples_are_found() {
        // A quarter of the rate, an eighth of a turn ahead: every sample is at 0.7071 of the peak.
        for samples in [2000, 100_000] {
            let peak = true_peak_db(&audio(48_000, 12_000.0, 0.125, samples)).unwrap();
            // Tech 3341, case 17 allows +0.2 and −0.4 dB around −6.
            assert!((peak + 6.02).abs() < 0.2, "{peak}");
        }
        let dense = true_peak_db(&audio(192_000, 1000.0, 0.0, 19_200)).unwrap();
        assert!((dense + 6.02).abs() < 0.01);
    }
}
