//! True peak after ITU-R BS.1770-4, annex 2: the largest magnitude of the signal at four times its rate.

use crate::error::Result;
use crate::{Quality, Resampler};

/// Rates from which on samples lie close enough together.
const DENSE_RATE: u32 = 176_400;

/// The true peak of sound that arrives in pieces: any cutting gives the same bits.
pub(super) struct TruePeak {
    /// None where samples are dense.
    resampler: Option<Resampler>,
    /// What is left of each channel; `before` samples of it were looked at already.
    pending: Vec<Vec<f32>>,
    before: usize,
    peak: f32,
}

impl TruePeak {
    pub(super) fn new(sample_rate: u32, channels: usize) -> Result<Self> {
        let dense = sample_rate >= DENSE_RATE;
        let resampler = || Resampler::new(sample_rate, sample_rate * 4, Quality::High);
        Ok(Self {
            resampler: if dense { None } else { Some(resampler()?) },
            pending: vec![Vec::new(); channels],
            before: 0,
            peak: 0.0,
        })
    }

    /// Takes the next samples of each channel.
    pub(super) fn push(&mut self, channels: &[&[f32]]) {
        let samples = channels.iter().copied().flatten();
        self.peak = samples.fold(self.peak, |peak, x| peak.max(x.abs()));
        if self.resampler.is_none() {
            return;
        }
        for (pending, channel) in self.pending.iter_mut().zip(channels) {
            pending.extend_from_slice(channel);
        }
        // Pieces with what the filter reaches on both sides: four times a whole file is not kept.
        let length = self.pending.first().map_or(0, Vec::len);
        let mut start = self.before;
        while start + PIECE + REACH <= length {
            self.look(start);
            start += PIECE;
        }
        let from = start.saturating_sub(REACH);
        for pending in &mut self.pending {
            pending.drain(..from);
        }
        self.before = start - from;
    }

    /// The true peak of all channels, dBTP; −∞ for silence.
    pub(super) fn finish(mut self) -> f64 {
        let length = self.pending.first().map_or(0, Vec::len);
        for start in (self.before..length).step_by(PIECE) {
            self.look(start);
        }
        20.0 * f64::from(self.peak).log10()
    }

    /// Looks at the piece from `start` on.
    fn look(&mut self, start: usize) {
        let Some(resampler) = &self.resampler else {
            return;
        };
        for channel in &self.pending {
            let from = start.saturating_sub(REACH);
            let to = (start + PIECE + REACH).min(channel.len());
            let dense = resampler.process(&channel[from..to]);
            let inside = 4 * (start - from)..(4 * (start + PIECE - from)).min(dense.len());
            let samples = dense[inside].iter();
            self.peak = samples.fold(self.peak, |peak, x| peak.max(x.abs()));
        }
    }
}

/// Samples at a time, and samples that the filter needs around them.
const PIECE: usize = 1 << 15;
const REACH: usize = 128;

#[cfg(test)]
mod tests {
    use super::super::k_weighting::for_pieces;
    use super::*;
    use crate::audio::Audio;

    fn true_peak_db(audio: &Audio) -> Result<f64> {
        let mut peak = TruePeak::new(audio.sample_rate, audio.channels.len())?;
        for_pieces(audio, |channels| peak.push(channels));
        Ok(peak.finish())
    }

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
