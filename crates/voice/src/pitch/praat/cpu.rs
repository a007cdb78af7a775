//! Praat's pitch on the CPU: the specification.

use std::ops::Range;

use warpsmith_signal::Result;

use super::stream::{Candidates, PraatLook, PraatStream};
use crate::pitch::autocorrelation::{Autocorrelation, CorrelationWindow, Placement, Stretch};
use crate::pitch::path::{Candidate, PathCosts, maxima};
use crate::pitch::range::PitchRange;

/// The choices of the tracker; the default is Praat's, within the range of voices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PraatSettings {
    /// Candidates of a frame, the unvoiced one among them.
    pub candidates: usize,
    /// Frames whose peak is below this share of the signal's are silent.
    pub silence: f64,
    /// Strength of the unvoiced candidate.
    pub voicing: f64,
    /// How much higher candidates are preferred, to an octave.
    pub octave: f64,
    /// What a jump of an octave in 10 ms costs.
    pub octave_jump: f64,
    /// What a change of voicing in 10 ms costs.
    pub voicing_change: f64,
    /// Periods of the lowest frequency in a window: 3 for pitch, 4.5 for the harmonics-to-noise ratio.
    pub periods: f64,
    /// The window's shape.
    pub window: CorrelationWindow,
}

impl PraatSettings {
    /// For the ratio of harmonics to noise: every frame's strongest period, in long Gaussian windows,
    /// whatever its neighbours say. The range is from 75 Hz to half the sample rate.
    pub fn harmonicity() -> Self {
        Self {
            silence: 0.1,
            voicing: 0.0,
            octave: 0.0,
            octave_jump: 0.0,
            voicing_change: 0.0,
            periods: 4.5,
            window: CorrelationWindow::Gaussian,
            ..Self::default()
        }
    }
}

impl PraatSettings {
    /// What a path pays. Costs are for 10 ms; shorter steps cost more, because they are taken more
    /// often.
    pub(crate) fn costs(&self, placement: Placement, range: PitchRange) -> PathCosts {
        let correction = 0.01 / placement.step();
        PathCosts {
            ceiling_hz: range.high_hz,
            octave: self.octave,
            octave_jump: self.octave_jump * correction,
            voicing_change: self.voicing_change * correction,
        }
    }
}

impl Default for PraatSettings {
    fn default() -> Self {
        Self {
            candidates: 15,
            silence: 0.03,
            voicing: 0.45,
            octave: 0.01,
            octave_jump: 0.35,
            voicing_change: 0.14,
            periods: 3.0,
            window: CorrelationWindow::Hann,
        }
    }
}

/// A track; its frames are those of [`PraatPitch::time`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PraatTrack {
    /// Seconds between frames.
    pub step: f64,
    /// Seconds of each frame's centre.
    pub seconds: Vec<f64>,
    /// Frequency, Hz; 0 in unvoiced frames.
    pub frequency: Vec<f32>,
    /// Autocorrelation at the period, 0 to 1; 0 in unvoiced frames.
    pub strength: Vec<f32>,
}

impl PraatTrack {
    /// Adds the pitch of a frame.
    pub(super) fn append(&mut self, chosen: Candidate) {
        let voiced = chosen.frequency > 0.0;
        let (frequency, strength) = (chosen.frequency as f32, chosen.strength as f32);
        self.frequency.push(if voiced { frequency } else { 0.0 });
        self.strength.push(if voiced { strength } else { 0.0 });
    }

    /// Harmonics-to-noise ratio of each frame, dB; −200 in unvoiced frames.
    pub fn harmonicity_db(&self) -> Vec<f32> {
        self.strength
            .iter()
            .map(|r| {
                let r = f64::from(*r);
                if r <= 0.0 {
                    -200.0
                } else if r >= 1.0 - 1e-15 {
                    150.0
                } else {
                    (10.0 * (r / (1.0 - r)).log10()) as f32
                }
            })
            .collect()
    }
}

/// A planned tracker.
pub struct PraatPitch {
    placement: Placement,
    range: PitchRange,
    settings: PraatSettings,
    correlation: Autocorrelation,
}

impl PraatPitch {
    /// A tracker for frames `hop` samples apart.
    pub fn new(
        sample_rate: u32,
        hop: usize,
        range: PitchRange,
        settings: PraatSettings,
    ) -> Result<Self> {
        let placement =
            Placement::under(settings.window, sample_rate, hop, range, settings.periods)?;
        Ok(Self {
            placement,
            range,
            settings,
            correlation: Autocorrelation::new(placement),
        })
    }

    /// The track of `signal`; empty where it is shorter than a window.
    pub fn track(&mut self, signal: &[f32]) -> PraatTrack {
        let frames = 0..self.placement.frames(signal.len());
        let loudest = PraatLook::of(signal).loudest();
        let candidates = self.candidates(Stretch::all(signal), frames, loudest);
        let path = self.costs().best_path(&candidates);
        chosen(&candidates, &path, self.placement, signal.len())
    }

    /// A second look at a signal, piece by piece.
    pub fn second_look(self, look: PraatLook) -> PraatStream {
        PraatStream::new(Box::new(self), look)
    }
}

impl Candidates for PraatPitch {
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
        let mut candidates = Vec::with_capacity(frames.len());
        let (placement, range, settings) = (self.placement, self.range, self.settings);
        self.correlation.each_of(stretch, frames, |_, frame| {
            let intensity = (f64::from(frame.peak) / loudest.max(f64::MIN_POSITIVE)).min(1.0);
            let least = 0.5 * settings.voicing;
            let count = settings.candidates.saturating_sub(1);
            let mut found = maxima(
                frame.correlation,
                placement,
                range,
                least,
                settings.octave,
                count,
            );
            let loud = 2.0 - intensity / (settings.silence / (1.0 + settings.voicing));
            found.insert(0, Candidate::unvoiced(settings.voicing + loud.max(0.0)));
            candidates.push(found);
        });
        candidates
    }
}

/// The track of a path through the candidates of a signal of so many samples.
pub(super) fn chosen(
    candidates: &[Vec<Candidate>],
    path: &[usize],
    placement: Placement,
    samples: usize,
) -> PraatTrack {
    let mut track = PraatTrack {
        step: placement.step(),
        seconds: placement.times(path.len(), samples),
        ..PraatTrack::default()
    };
    for (index, candidates) in path.iter().zip(candidates) {
        track.append(candidates[*index]);
    }
    track
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_noise::white_noise;

    fn tone(hertz: f64, harmonics: std::ops::Range<u32>, samples: usize) -> Vec<f32> {
        (0..samples)
            .map(|n| {
                let phase = std::f64::consts::TAU * hertz * n as f64 / 16_000.0;
                harmonics
                    .clone()
                    .map(|k| 0.3 * (f64::from(k) * phase + f64::from(k * k)).sin() / f64::from(k))
                    .sum::<f64>() as f32
            })
            .collect()
    }

    fn tracker() -> PraatPitch {
        PraatPitch::new(16_000, 160, PitchRange::VOICE, PraatSettings::default()).unwrap()
    }

    #[test]
    fn tones_are_tracked_to_a_fifth_of_a_cent_without_their_fundamental_too() {
        for (hertz, harmonics) in [(72.3, 1..12), (147.3, 1..12), (220.0, 3..12), (613.1, 1..8)] {
            let track = tracker().track(&tone(hertz, harmonics, 16_000));
            assert!(track.frequency.len() > 90);
            for hz in &track.frequency {
                let cents = 1200.0 * (f64::from(*hz) / hertz).log2();
                assert!(cents.abs() < 0.2, "{hertz}: {hz} is {cents} cents away");
            }
        }
    }

    fn ratios(signal: &[f32]) -> Vec<f32> {
        let range = PitchRange {
            low_hz: 75.0,
            high_hz: 8000.0,
        };
        let settings = PraatSettings::harmonicity();
        let mut tracker = PraatPitch::new(16_000, 160, range, settings).unwrap();
        tracker.track(signal).harmonicity_db()
    }

    #[test]
    fn a_tone_without_noise_has_next_to_none() {
        for (hertz, harmonics) in [(92.3, 1..12), (147.3, 1..12), (220.0, 3..12), (613.1, 1..8)] {
            let least = ratios(&tone(hertz, harmonics, 16_000))
                .into_iter()
                .fold(f32::INFINITY, f32::min);
            assert!(least > 40.0, "{hertz}: {least} dB");
        }
    }

    #[test]
    fn silence_noise_and_short_signals_have_no_pitch() {
        assert!(tracker().track(&[]).frequency.is_empty());
        assert!(tracker().track(&[0.1; 300]).frequency.is_empty());
        let silent = tracker().track(&[0.0; 8000]);
        assert!(silent.frequency.iter().all(|hz| *hz == 0.0));
        let noise = white_noise(7, 16_000);
        let track = tracker().track(&noise);
        let voiced = track.frequency.iter().filter(|hz| **hz > 0.0).count();
        assert!(voiced * 20 < track.frequency.len(), "{voiced}");
    }

    #[test]
    fn the_ratio_of_harmonics_to_noise_is_that_of_the_signal() {
        let clean = tone(150.0, 1..12, 48_000);
        let power = clean.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / 48_000.0;
        let mut state = 3u64;
        for snr in [10.0, 20.0] {
            let scale = (3.0 * power * 10f64.powf(-snr / 10.0)).sqrt();
            let noisy: Vec<f32> = clean
                .iter()
                .map(|x| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    let unit = (state >> 11) as f64 / (1u64 << 53) as f64;
                    x + (scale * (2.0 * unit - 1.0)) as f32
                })
                .collect();
            let mut ratios = ratios(&noisy);
            ratios.sort_unstable_by(f32::total_cmp);
            let median = f64::from(ratios[ratios.len() / 2]);
            assert!((median - snr).abs() < 1.0, "{snr} dB: {median}");
        }
    }
}
