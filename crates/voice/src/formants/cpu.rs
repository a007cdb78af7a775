//! Formants on the CPU: the specification.

use std::ops::Range;

use serde::Serialize;
use warpsmith_signal::{Resampler, Result, SignalError};

use super::stream::FormantStream;

/// A resonance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Formant {
    /// Hz.
    pub frequency: f32,
    /// Width at −3 dB, Hz.
    pub bandwidth: f32,
}

/// The choices of the tracker; the default is Praat's, for an average adult.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FormantSettings {
    /// Formants looked for.
    pub count: usize,
    /// Highest frequency of a formant, Hz: 5000 for men, 5500 for women.
    pub ceiling_hz: f64,
    /// Effective length of the window, seconds; it reaches twice as far.
    pub window_seconds: f64,
    /// Seconds between frames.
    pub hop_seconds: f64,
    /// From where on pre-emphasis raises by 6 dB to an octave, Hz.
    pub emphasis_hz: f64,
}

impl Default for FormantSettings {
    fn default() -> Self {
        Self {
            count: 5,
            ceiling_hz: 5500.0,
            window_seconds: 0.025,
            hop_seconds: 0.01,
            emphasis_hz: 50.0,
        }
    }
}

/// Poles nearer to 0 Hz and to the ceiling than this are not formants.
pub(crate) const EDGE_HZ: f64 = 50.0;

/// The highest ceiling, Hz: no vocal tract resonates there.
const HIGHEST_CEILING: f64 = 100_000.0;

/// Formants that are looked for at most: each takes two poles, whose search costs the square of their number.
const MOST_FORMANTS: usize = 100;
/// The longest window, seconds: a vowel is shorter.
const LONGEST_WINDOW: f64 = 10.0;

/// A planned tracker.
#[derive(Clone)]
pub struct FormantTracker {
    pub(super) settings: FormantSettings,
    resampler: Resampler,
    source_rate: f64,
    rate: f64,
    window: Vec<f64>,
}

impl FormantTracker {
    /// A tracker for signals at `sample_rate`.
    pub fn new(sample_rate: u32, settings: FormantSettings) -> Result<Self> {
        let ceilings = 4.0 * EDGE_HZ..=HIGHEST_CEILING;
        if !(ceilings.contains(&settings.ceiling_hz) && settings.count > 0) {
            return Err(SignalError::parameter(
                "formants",
                format!("{} below {} Hz", settings.count, settings.ceiling_hz),
                format!("at least one, below a ceiling of 200 to {HIGHEST_CEILING} Hz"),
            ));
        }
        if settings.count > MOST_FORMANTS {
            return Err(SignalError::parameter(
                "formants",
                settings.count,
                format!("at most {MOST_FORMANTS} are looked for; voices have about five"),
            ));
        }
        let fits = settings.window_seconds > 0.001 && settings.window_seconds <= LONGEST_WINDOW;
        if !(settings.hop_seconds > 0.0 && fits) {
            return Err(SignalError::parameter(
                "window",
                format!("{} s", settings.window_seconds),
                format!(
                    "windows of more than 1 ms and up to {LONGEST_WINDOW} s, and a hop above 0"
                ),
            ));
        }
        // As Praat does, a signal that does not reach the ceiling is brought to twice that, too: the poles that a
        // count asks for are spread over the whole range, and the empty part takes its share.
        let rate = (2.0 * settings.ceiling_hz).round();
        // Praat's Gaussian: down to e^−12 at the ends of twice the effective length.
        let length = ((2.0 * settings.window_seconds * rate) as usize).max(8);
        let middle = (length as f64 + 1.0) / 2.0;
        let edge = (-12.0f64).exp();
        let window = (1..=length)
            .map(|n| {
                let x = (n as f64 - middle) / (length as f64 + 1.0);
                ((-48.0 * x * x).exp() - edge) / (1.0 - edge)
            })
            .collect();
        Ok(Self {
            settings,
            resampler: Resampler::full_band(sample_rate, rate as u32)?,
            source_rate: f64::from(sample_rate),
            rate,
            window,
        })
    }

    /// The formants of each frame, lowest first, `hop_seconds` apart; the frames are centred in the
    /// signal. None for a signal shorter than a window.
    pub fn track(&self, signal: &[f32]) -> Vec<Vec<Formant>> {
        let mut track = Vec::with_capacity(self.frames(signal.len()));
        let mut stream = FormantStream::new(self.clone(), signal.len());
        stream.process(signal, &mut track);
        stream.finish(&mut track);
        track
    }

    /// Frames of a signal of so many samples.
    pub fn frames(&self, samples: usize) -> usize {
        let samples = self.resampled_length(samples);
        if samples < self.window.len() {
            return 0;
        }
        // In seconds and in this order: whether a last frame fits is a matter of rounding, and all
        // frames move by half a hop with it.
        let room = samples as f64 * (1.0 / self.rate) - 2.0 * self.settings.window_seconds;
        (room / self.settings.hop_seconds).floor().max(0.0) as usize + 1
    }

    /// What each frame of a signal of so many samples takes of the resampled signal.
    pub(crate) fn stretches(&self, samples: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let count = self.frames(samples);
        let samples = self.resampled_length(samples);
        let length = self.window.len();
        let hop = self.settings.hop_seconds * self.rate;
        let last = samples.saturating_sub(1) as f64;
        let first = (last - count.saturating_sub(1) as f64 * hop) / 2.0;
        (0..count).map(move |index| {
            // The centres lie between two samples; the window is halved there.
            let centre = (first + index as f64 * hop).floor() as usize;
            let start = (centre + 1).saturating_sub(length / 2).min(samples);
            start..samples.min(start + length / 2 * 2)
        })
    }

    /// Samples that a signal of so many has at the tracker's rate.
    pub(super) fn resampled_length(&self, samples: usize) -> usize {
        let wanted = (samples as f64 * self.rate / self.source_rate).round() as usize;
        wanted.min(self.resampler.output_length(samples))
    }

    pub(crate) fn resampler(&self) -> &Resampler {
        &self.resampler
    }

    pub(crate) fn window(&self) -> &[f64] {
        &self.window
    }

    /// Samples per second after resampling.
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    /// What pre-emphasis takes of the sample before.
    pub(crate) fn emphasis(&self) -> f64 {
        (-std::f64::consts::TAU * self.settings.emphasis_hz / self.rate).exp()
    }

    /// The formants among a frame's poles, lowest first.
    pub(super) fn of_poles(&self, poles: &[(f64, f64)]) -> Vec<Formant> {
        let mut formants: Vec<Formant> = poles
            .iter()
            .filter(|(_, im)| *im > 0.0)
            .map(|(re, im)| {
                // A pole outside the circle sounds as the one that it mirrors.
                let radius = re.hypot(*im).min(1.0 / re.hypot(*im));
                Formant {
                    frequency: (im.atan2(*re) * self.rate / std::f64::consts::TAU) as f32,
                    bandwidth: (-radius.ln() * self.rate / std::f64::consts::PI) as f32,
                }
            })
            .filter(|formant| {
                let hz = f64::from(formant.frequency);
                hz >= EDGE_HZ && hz <= self.rate / 2.0 - EDGE_HZ
            })
            .collect();
        formants.sort_by(|a, b| a.frequency.total_cmp(&b.frequency));
        formants.truncate(self.settings.count);
        formants
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pulses at `f0` through resonators at known frequencies and widths.
    fn vowel(resonances: &[(f64, f64)], f0: f64, rate: f64, seconds: f64) -> Vec<f32> {
        let count = (rate * seconds) as usize;
        let mut x: Vec<f64> = vec![0.0; count];
        let mut phase = 0.0f64;
        for slot in &mut x {
            phase += f0 / rate;
            if phase >= 1.0 {
                phase -= 1.0;
                *slot = 1.0;
            }
        }
        // The glottis and the lips: −6 dB to an octave in sum.
        let mut state = 0.0;
        for slot in &mut x {
            state = *slot + 0.98 * state;
            *slot = state;
        }
        for (hz, width) in resonances {
            let radius = (-std::f64::consts::PI * width / rate).exp();
            let (a1, a2) = (
                -2.0 * radius * (std::f64::consts::TAU * hz / rate).cos(),
                radius * radius,
            );
            let (mut y1, mut y2) = (0.0, 0.0);
            for slot in &mut x {
                let y = *slot - a1 * y1 - a2 * y2;
                (y2, y1) = (y1, y);
                *slot = y;
            }
        }
        let peak = x.iter().fold(0.0f64, |peak, x| peak.max(x.abs()));
        x.iter().map(|x| (0.5 * x / peak) as f32).collect()
    }

    #[test]
    fn the_resonances_of_known_vowels_are_found() {
        for resonances in [
            [(700.0, 80.0), (1220.0, 90.0), (2600.0, 120.0)],
            [(300.0, 60.0), (2300.0, 90.0), (3000.0, 150.0)],
            [(500.0, 70.0), (1500.0, 80.0), (2500.0, 110.0)],
        ] {
            // Five formants to 5 kHz, as a tract of 17 cm has.
            let tract = [&resonances[..], &[(3600.0, 180.0), (4500.0, 220.0)]].concat();
            for rate in [16_000u32, 44_100] {
                let signal = vowel(&tract, 85.0, f64::from(rate), 0.5);
                let settings = FormantSettings {
                    count: 5,
                    ceiling_hz: 5000.0,
                    ..FormantSettings::default()
                };
                let track = FormantTracker::new(rate, settings).unwrap().track(&signal);
                assert!(track.len() > 30);
                for (index, (hz, _)) in resonances.iter().enumerate() {
                    let mut found: Vec<f64> = track
                        .iter()
                        .map(|formants| {
                            let distance = |f: &Formant| (f64::from(f.frequency) - hz).abs();
                            formants.iter().map(distance).fold(f64::INFINITY, f64::min)
                        })
                        .collect();
                    found.sort_unstable_by(f64::total_cmp);
                    let median = found[found.len() / 2];
                    // Between harmonics a spectrum says nothing: a quarter of their distance.
                    assert!(
                        median < (0.05 * hz).max(85.0 / 4.0),
                        "{rate} Hz, F{}: {median}",
                        index + 1
                    );
                }
            }
        }
    }

    #[test]
    fn a_signal_that_does_not_reach_the_ceiling_has_praats_formants() {
        // Praat 6.4 (parselmouth 0.4): To Formant (burg): 0.01, 5, 5500, 0.025, 50; medians over the frames.
        for (resonances, praat) in [
            (
                [(700.0, 80.0), (1220.0, 90.0), (2600.0, 120.0)],
                [701.2, 1211.7, 2583.5],
            ),
            (
                [(500.0, 70.0), (1500.0, 80.0), (2500.0, 110.0)],
                [484.2, 1497.3, 2488.5],
            ),
        ] {
            let tract = [&resonances[..], &[(3600.0, 180.0)]].concat();
            let signal = vowel(&tract, 120.0, 8000.0, 0.5);
            let tracker = FormantTracker::new(8000, FormantSettings::default()).unwrap();
            let track = tracker.track(&signal);
            assert_eq!(track.len(), 45);
            for (n, expected) in praat.iter().enumerate() {
                let mut found: Vec<f32> = track.iter().map(|frame| frame[n].frequency).collect();
                found.sort_unstable_by(f32::total_cmp);
                let median = f64::from(found[found.len() / 2]);
                assert!(
                    (median - expected).abs() < 5.0,
                    "F{}: {median}, Praat {expected}",
                    n + 1
                );
            }
        }
    }

    #[test]
    fn more_formants_than_a_voice_can_have_are_refused() {
        let settings = FormantSettings {
            count: 100_000,
            ..FormantSettings::default()
        };
        let refused = FormantTracker::new(16_000, settings).err().unwrap();
        assert!(refused.to_string().contains("at most 100"), "{refused}");
    }

    #[test]
    fn silence_has_no_formants_and_a_short_signal_no_frames() {
        let tracker = FormantTracker::new(16_000, FormantSettings::default()).unwrap();
        assert!(tracker.track(&[0.0; 8000]).iter().all(Vec::is_empty));
        assert!(tracker.track(&[0.1; 50]).is_empty());
        assert!(tracker.track(&[]).is_empty());
    }
}
