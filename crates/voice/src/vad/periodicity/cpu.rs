//! Voice activity by periodicity on the CPU: the specification.

use warpsmith_signal::{Bridging, Result};

use super::tops::Periodicity;
use crate::pitch::{PitchRange, Placement};

/// Voices, without the highest singing: above, rumble has its harmonics.
const RANGE: PitchRange = PitchRange {
    low_hz: 64.0,
    high_hz: 400.0,
};
/// The share of the frames below the level that is compared with, and the factor above it.
const BACKGROUND: f64 = 0.3;
const FACTOR: f32 = 3.0;
/// Least and highest bound.
const BOUNDS: (f32, f32) = (0.25, 0.8);
/// Gaps up to 0.8 s are filled, edges widened by 0.2 s: what labellers of meetings do.
const BRIDGING: Bridging = Bridging {
    gap: 80,
    pad: 20,
    shortest: 1,
};

/// A planned detector; frames are 10 ms apart.
pub struct PeriodicityVad {
    pub(super) periodicity: Periodicity,
}

impl PeriodicityVad {
    /// A detector for signals at `sample_rate`.
    pub fn new(sample_rate: u32) -> Result<Self> {
        let hop = (sample_rate as usize / 100).max(1);
        let high_hz = RANGE.high_hz.min(f64::from(sample_rate) / 2.0);
        let range = PitchRange { high_hz, ..RANGE };
        Ok(Self {
            periodicity: Periodicity::new(sample_rate, hop, range)?,
        })
    }

    /// One decision to a 10 ms frame.
    pub fn decide(&mut self, signal: &[f32]) -> Vec<bool> {
        let (_, tops) = self.periodicity.of(signal);
        Self::judge(self.periodicity.placement(), signal.len(), &tops)
    }

    /// The decisions about a signal of so many samples whose frames, placed so, have these tops.
    pub(crate) fn judge(placement: Placement, samples: usize, tops: &[f32]) -> Vec<bool> {
        if samples == 0 {
            return Vec::new();
        }
        let frames = 1 + samples / placement.hop;
        let first = placement.hops_to_first(samples);
        let mut sorted = tops.to_vec();
        sorted.sort_unstable_by(f32::total_cmp);
        let place = (sorted.len().saturating_sub(1) as f64 * BACKGROUND) as usize;
        let background = sorted.get(place).copied().unwrap_or(0.0);
        let bound = (FACTOR * background).clamp(BOUNDS.0, BOUNDS.1);
        // Frames whose window would leave the signal are like their nearest neighbour.
        let raw: Vec<bool> = (0..frames)
            .map(|frame| {
                let near = frame
                    .saturating_sub(first)
                    .min(tops.len().saturating_sub(1));
                tops.get(near).is_some_and(|top| *top > bound)
            })
            .collect();
        BRIDGING.apply(&raw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_noise::TestNoise;

    #[test]
    fn a_voice_in_loud_noise_is_found_and_noise_alone_is_not() {
        let mut random = TestNoise::new(1);
        let mut noise = || random.unit() as f32 - 0.5;
        let signal: Vec<f32> = (0..96_000)
            .map(|n| {
                let phase = std::f32::consts::TAU * 140.0 * n as f32 / 16_000.0;
                let on = (32_000..64_000).contains(&n);
                let voice: f32 = (1..10).map(|k| (k as f32 * phase).sin() / k as f32).sum();
                0.5 * noise() + if on { 0.2 * voice } else { 0.0 }
            })
            .collect();
        let mut vad = PeriodicityVad::new(16_000).unwrap();
        let decisions = vad.decide(&signal);
        assert_eq!(decisions.len(), 601);
        assert!(decisions[205..395].iter().all(|speech| *speech));
        assert!(
            decisions[..170]
                .iter()
                .chain(&decisions[430..])
                .all(|speech| !speech)
        );
        let alone: Vec<f32> = (0..48_000).map(|_| noise()).collect();
        assert!(vad.decide(&alone).iter().all(|speech| !speech));
        assert!(vad.decide(&[0.0; 16_000]).iter().all(|speech| !speech));
        assert!(vad.decide(&[]).is_empty());
        assert_eq!(vad.decide(&[0.1; 50]), [false]);
    }
}
