//! Praat's pitch in double precision, its frames at any distance: for measures that go on from the track,
//! such as jitter, where a frame that is voiced or not decides. Slower than [`PraatPitch`](super::PraatPitch), and
//! nearer to Praat: its lags end up to two samples beyond the longest period, and what has its top there is voiced,
//! a little below the range.

use std::ops::Range;

use warpsmith_signal::{PreciseTransform, Result, summit};

use super::cpu::{PraatSettings, PraatTrack, chosen};
use super::stream::{Candidates, PraatLook, PraatStream};
use crate::pitch::autocorrelation::{CorrelationWindow, Placement, Stretch};
use crate::pitch::path::{Candidate, PathCosts, candidate, tops};
use crate::pitch::range::PitchRange;

/// Samples on either side that a top is interpolated with, and for next to perfect periodicity.
const DEPTHS: (usize, usize) = (70, 700);

/// A planned tracker.
pub struct PrecisePraat {
    placement: Placement,
    range: PitchRange,
    settings: PraatSettings,
    window: Vec<f64>,
    unwindow: Vec<f64>,
    transform: PreciseTransform,
}

impl PrecisePraat {
    /// A tracker for frames `step` seconds apart.
    pub fn new(
        sample_rate: u32,
        step: f64,
        range: PitchRange,
        settings: PraatSettings,
    ) -> Result<Self> {
        let placement = Placement::under(settings.window, sample_rate, 1, range, settings.periods)?
            .every(step)?;
        let length = 2 * placement.half + placement.reach();
        Ok(Self {
            placement,
            range,
            settings,
            window: placement.window(),
            unwindow: placement.unwindow(),
            transform: PreciseTransform::new(length.next_power_of_two()),
        })
    }

    /// The track of `signal`; empty where it is shorter than a window.
    pub fn track(&self, signal: &[f32]) -> PraatTrack {
        let loudest = PraatLook::of(signal).loudest();
        let frames = self.placement.frames(signal.len());
        let candidates: Vec<Vec<Candidate>> = (0..frames)
            .map(|frame| self.of_frame(Stretch::all(signal), frame, loudest))
            .collect();
        let path = self.settings.costs(self.placement, self.range);
        chosen(
            &candidates,
            &path.best_path(&candidates),
            self.placement,
            signal.len(),
        )
    }

    /// A second look at a signal, piece by piece.
    pub fn second_look(self, look: PraatLook) -> PraatStream {
        PraatStream::new(Box::new(self), look)
    }

    fn of_frame(&self, stretch: Stretch<'_>, frame: usize, loudest: f64) -> Vec<Candidate> {
        let Placement { half, period, .. } = self.placement;
        let start = self.placement.start(frame, stretch.length());
        let near = stretch.around(start + half, period, period);
        let mean = near.iter().map(|x| f64::from(*x)).sum::<f64>() / near.len() as f64;
        let mut values = vec![0.0; self.transform.length()];
        let window = stretch.part(start, start + 2 * half);
        let windowed = window.iter().zip(&self.window);
        for (slot, (x, weight)) in values.iter_mut().zip(windowed) {
            *slot = (f64::from(*x) - mean) * weight;
        }
        // How loud it is within half a longest period of the centre, under the window.
        let reach = (period / 2 + 1).min(half);
        let peak = values[half - reach..half + reach]
            .iter()
            .fold(0.0f64, |peak, x| peak.max(x.abs()));
        self.transform.forward(&mut values);
        let ends = [values[0], values[1]].map(|x| x * x);
        for bin in values.as_chunks_mut::<2>().0 {
            *bin = [bin[0] * bin[0] + bin[1] * bin[1], 0.0];
        }
        values[..2].copy_from_slice(&ends);
        self.transform.inverse(&mut values);
        let whole = values[0].max(f64::MIN_POSITIVE);
        let pairs = values.iter().zip(&self.unwindow);
        let correlation: Vec<f64> = pairs.map(|(value, scale)| value / whole * scale).collect();
        let PraatSettings {
            silence,
            voicing,
            octave,
            ..
        } = self.settings;
        let intensity = (peak / loudest.max(f64::MIN_POSITIVE)).min(1.0);
        let loud = 2.0 - intensity / (silence / (1.0 + voicing));
        let mut found = vec![Candidate::unvoiced(voicing + loud.max(0.0))];
        let count = self.settings.candidates.saturating_sub(1);
        let (placement, range) = (self.placement, self.range);
        // The lags are what bounds a pitch from below.
        let any_period = PitchRange {
            low_hz: 0.0,
            ..range
        };
        for (near, _) in tops(&correlation, placement, range, 0.5 * voicing, octave, count) {
            let is_high = near < 1.0 / 0.3;
            let depth = match self.settings.window {
                CorrelationWindow::Hann if !is_high => DEPTHS.0,
                _ => DEPTHS.1,
            };
            found.extend(candidate(
                summit(&correlation, near, depth),
                placement.rate,
                any_period,
            ));
        }
        found
    }
}

impl Candidates for PrecisePraat {
    fn placement(&self) -> Placement {
        self.placement
    }

    fn costs(&self) -> PathCosts {
        self.settings.costs(self.placement, self.range)
    }

    fn candidates(
        &mut self,
        stretch: Stretch<'_>,
        frames: Range<usize>,
        loudest: f64,
    ) -> Vec<Vec<Candidate>> {
        frames
            .map(|frame| self.of_frame(stretch, frame, loudest))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pitch::PraatPitch;

    #[test]
    fn a_voice_a_hair_below_the_range_is_voiced_as_far_as_the_lags_go() {
        let range = PitchRange {
            low_hz: 75.0,
            high_hz: 600.0,
        };
        let tracker = PrecisePraat::new(8000, 0.01, range, PraatSettings::default()).unwrap();
        let pitches = |hertz: f64| {
            let signal: Vec<f32> = (0..8000)
                .map(|n| {
                    let phase = std::f64::consts::TAU * hertz * f64::from(n) / 8000.0;
                    let harmonics = (1..12).map(|k| (f64::from(k) * phase).sin() / f64::from(k));
                    (0.3 * harmonics.sum::<f64>()) as f32
                })
                .collect();
            tracker.track(&signal).frequency
        };
        // Periods of 107 samples; the range ends at 106.7. Praat hears 74.757 to 74.846 Hz.
        let near = pitches(74.8);
        assert_eq!(near.len(), 97);
        for hz in near {
            assert!((hz - 74.8).abs() < 0.05, "{hz}");
        }
        // 114.3 samples are beyond its lags.
        assert!(pitches(70.0).iter().all(|hz| *hz == 0.0));
    }

    #[test]
    fn tracks_are_those_of_single_precision_where_frames_lie_at_samples() {
        let signal: Vec<f32> = (0..16_000)
            .map(|n| {
                let phase = std::f64::consts::TAU * 147.3 * f64::from(n) / 16_000.0;
                let voiced = if (4000..12_000).contains(&n) {
                    0.3
                } else {
                    0.0
                };
                let harmonics = (1..12).map(|k| (f64::from(k) * phase).sin() / f64::from(k));
                (voiced * harmonics.sum::<f64>()) as f32
            })
            .collect();
        let settings = PraatSettings::default();
        let range = PitchRange::VOICE;
        let precise = PrecisePraat::new(16_000, 0.01, range, settings)
            .unwrap()
            .track(&signal);
        let single = PraatPitch::new(16_000, 160, range, settings)
            .unwrap()
            .track(&signal);
        assert_eq!(precise.seconds, single.seconds);
        assert!(precise.frequency.iter().filter(|hz| **hz > 0.0).count() > 40);
        for (a, b) in precise.frequency.iter().zip(&single.frequency) {
            assert!((a - b).abs() < 0.02, "{a} and {b}");
        }
        let tracker = PrecisePraat::new(22_050, 0.01, range, settings).unwrap();
        let track = tracker.track(&signal);
        assert!((track.seconds[1] - track.seconds[0] - 0.01).abs() < 1e-12);
        assert!(tracker.track(&[]).frequency.is_empty());
        assert!(PrecisePraat::new(16_000, 0.0, range, settings).is_err());
    }
}
