//! The ratio of harmonics to noise by cross-correlation: how much of a stretch of one longest period is
//! repeated a period later (Boersma 1993; Praat's *Sound: To Harmonicity (cc)*).
//!
//! A stretch is compared with later ones of its own length, so that the window of an autocorrelation does
//! not blur what changes; in double precision, because a ratio of 60 dB is a part in a million.

use serde::Serialize;
use warpsmith_signal::{Kept, Result, SignalError, first_centre, parabola, sample_before, summit};
use warpsmith_voice::PraatLook;

/// What is looked at; the default is Praat's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HarmonicitySettings {
    /// Seconds between frames.
    pub step: f64,
    /// Lowest frequency of a voice, Hz.
    pub low_hz: f64,
    /// Frames whose peak is below this share of the signal's are silent.
    pub silence: f64,
}

impl Default for HarmonicitySettings {
    fn default() -> Self {
        Self {
            step: 0.01,
            low_hz: 75.0,
            silence: 0.1,
        }
    }
}

/// The ratio in every frame.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Harmonicity {
    /// Seconds of each frame's centre.
    pub seconds: Vec<f64>,
    /// Harmonics over noise, dB; `None` where nothing repeats itself, or all is silent.
    pub decibels: Vec<Option<f64>>,
}

/// Repetitions that are looked at between samples, the highest first.
const CANDIDATES: usize = 8;

impl Harmonicity {
    /// Measures `signal`; no frames where it is shorter than two of the longest periods.
    pub fn measure(
        signal: &[f32],
        sample_rate: u32,
        settings: HarmonicitySettings,
    ) -> Result<Self> {
        let look = PraatLook::of(signal);
        let mut stream = HarmonicityStream::new(look, sample_rate, settings)?;
        let mut found = Self::default();
        stream.process(signal, |seconds, decibels| {
            found.seconds.push(seconds);
            found.decibels.push(decibels);
        });
        Ok(found)
    }

    /// The mean over the frames that have a ratio, dB.
    pub fn mean_db(&self) -> Option<f64> {
        let known = self.decibels.iter().flatten();
        let count = known.clone().count();
        (count > 0).then(|| known.sum::<f64>() / count as f64)
    }
}

/// The ratios of a signal that is heard for the second time, piece by piece.
pub struct HarmonicityStream {
    rate: f64,
    settings: HarmonicitySettings,
    /// Half of what is compared, samples.
    half: usize,
    /// The longest period, samples.
    period: usize,
    loudest: f64,
    samples: usize,
    kept: Kept<f32>,
    /// Seconds of the first frame's centre, frames, and those that are measured.
    first: f64,
    frames: usize,
    measured: usize,
}

impl HarmonicityStream {
    /// For a signal of which a first look said this.
    pub fn new(look: PraatLook, sample_rate: u32, settings: HarmonicitySettings) -> Result<Self> {
        let rate = f64::from(sample_rate);
        let period = 1.0 / settings.low_hz;
        let samples = (period * rate).floor();
        if !(settings.step > 0.0 && (16.0..1e7).contains(&samples)) {
            return Err(SignalError::parameter(
                "lowest frequency",
                format!("{} Hz every {} s", settings.low_hz, settings.step),
                "periods of 16 samples or more, and frames that move",
            ));
        }
        let half = samples as usize / 2 - 1;
        let room = look.samples() as f64 / rate - 2.0 * period;
        let frames = if room < 0.0 || look.samples() < 4 * half + 8 {
            0
        } else {
            (room / settings.step).floor() as usize + 1
        };
        Ok(Self {
            rate,
            settings,
            half,
            period: samples as usize,
            loudest: look.loudest(),
            samples: look.samples(),
            kept: Kept::default(),
            first: first_centre(look.samples(), rate, frames, settings.step),
            frames,
            measured: 0,
        })
    }

    /// Takes the next samples; shows the time of each frame that they complete, and its ratio.
    pub fn process(&mut self, piece: &[f32], mut see: impl FnMut(f64, Option<f64>)) {
        self.kept.push(piece);
        while self.measured < self.frames {
            let seconds = self.first + self.measured as f64 * self.settings.step;
            let (begin, end) = self.looks_at(seconds);
            if end > self.kept.end() {
                self.kept.forget(begin);
                return;
            }
            see(seconds, self.at(seconds));
            self.measured += 1;
        }
        self.kept.forget(self.samples);
    }

    /// The first sample after the centre of a frame.
    fn right(&self, seconds: f64) -> usize {
        (sample_before(seconds, self.rate) + 1).max(0) as usize
    }

    /// The first sample of what is compared: half of the longest period and half of that before the centre.
    fn start(&self, seconds: f64) -> usize {
        sample_before(seconds - 1.0 / self.settings.low_hz, self.rate).max(0) as usize
    }

    /// The samples that a frame looks at.
    fn looks_at(&self, seconds: f64) -> (usize, usize) {
        let (right, start) = (self.right(seconds), self.start(seconds));
        let begin = start.min(right.saturating_sub(self.period));
        let end = (right + self.period).max(start + 4 * self.half + 2);
        (begin, end.min(self.samples))
    }

    fn at(&self, seconds: f64) -> Option<f64> {
        let right = self.right(seconds);
        let near = |reach: usize| {
            let part = self.kept.slice(right.saturating_sub(reach)..right + reach);
            part.iter().map(|x| f64::from(*x))
        };
        let mean = near(self.period).sum::<f64>() / near(self.period).len() as f64;
        let peak = near(self.half).fold(0.0f64, |peak, x| peak.max((x - mean).abs()));
        if self.loudest <= 0.0 {
            return None;
        }
        let silent = (2.0 - (peak / self.loudest).min(1.0) / self.settings.silence).max(0.0);
        let (start, length) = (self.start(seconds), 2 * self.half);
        let part = self.kept.slice(start..start + 2 * length + 2);
        let samples: Vec<f64> = part.iter().map(|x| f64::from(*x) - mean).collect();
        let correlation = cross_correlation(&samples, length);
        let mut tops: Vec<(f64, usize)> = (2..correlation.len().saturating_sub(1).min(length))
            .filter(|&lag| {
                let [before, here, after] =
                    [-1, 0, 1].map(|n| correlation[lag.wrapping_add_signed(n)]);
                here > 0.0 && here > before && here >= after
            })
            .map(|lag| (correlation[lag], lag))
            .collect();
        tops.sort_by(|a, b| b.0.total_cmp(&a.0));
        tops.truncate(CANDIDATES);
        // Beyond its own length nothing is searched or interpolated with.
        let known = &correlation[..correlation.len().min(length + 1)];
        let mut strength = silent;
        let mut found = None;
        for (_, lag) in tops {
            let [before, here, after] = [lag - 1, lag, lag + 1].map(|lag| correlation[lag]);
            let near = parabola([before, here, after], lag).0;
            let (place, height) = summit(known, near, known.len());
            // Above 1 is an error of the interpolation, and as large as it is above.
            let height = if height > 1.0 { 1.0 / height } else { height };
            let hertz = self.rate / place;
            if hertz <= self.rate / 2.0 && hertz >= self.settings.low_hz && height > strength {
                strength = height;
                found = Some(height);
            }
        }
        found.map(|r| {
            if r > 1.0 - 1e-15 {
                150.0
            } else {
                10.0 * (r / (1.0 - r)).log10()
            }
        })
    }
}

/// The correlation of the first `length` samples with as many that begin 0, 1, 2 … samples later, each
/// normalised by both powers.
fn cross_correlation(samples: &[f64], length: usize) -> Vec<f64> {
    if samples.len() < length {
        return Vec::new();
    }
    let here = &samples[..length];
    let power: f64 = here.iter().map(|x| x * x).sum();
    samples
        .windows(length)
        .map(|there| {
            // Partial sums do not wait for each other.
            let (mut cross, mut squares) = ([0.0f64; 8], [0.0f64; 8]);
            let (eights, rest) = (here.chunks_exact(8), there.chunks_exact(8));
            for (n, (x, y)) in eights.remainder().iter().zip(rest.remainder()).enumerate() {
                cross[n] += x * y;
                squares[n] += y * y;
            }
            for (x, y) in eights.zip(rest) {
                for n in 0..8 {
                    cross[n] += x[n] * y[n];
                    squares[n] += y[n] * y[n];
                }
            }
            let (cross, squares): (f64, f64) = (cross.iter().sum(), squares.iter().sum());
            if power > 0.0 && squares > 0.0 {
                cross / (power * squares).sqrt()
            } else {
                0.0
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    fn voice(noise: f64, samples: u32) -> Vec<f32> {
        let mut state = 3u64;
        (0..samples)
            .map(|n| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let unit = (state >> 11) as f64 / (1u64 << 53) as f64;
                let phase = 2.0 * PI * 147.3 * f64::from(n) / 16_000.0;
                let tone: f64 = (1..12)
                    .map(|k| 0.2 * (f64::from(k) * phase + f64::from(k * k)).sin() / f64::from(k))
                    .sum();
                (tone + noise * (2.0 * unit - 1.0)) as f32
            })
            .collect()
    }

    fn mean_db(signal: &[f32]) -> Option<f64> {
        Harmonicity::measure(signal, 16_000, HarmonicitySettings::default())
            .unwrap()
            .mean_db()
    }

    #[test]
    fn the_ratio_is_that_of_the_signal() {
        let clean = voice(0.0, 32_000);
        let power = clean.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / 32_000.0;
        for snr in [10.0, 20.0, 30.0] {
            let scale = (3.0 * power * 10f64.powf(-snr / 10.0)).sqrt();
            let found = mean_db(&voice(scale, 32_000)).unwrap();
            assert!((found - snr).abs() < 1.0, "{snr} dB: {found}");
        }
        assert!(mean_db(&clean).unwrap() > 50.0);
    }

    #[test]
    fn frames_without_a_voice_have_none() {
        assert_eq!(mean_db(&[0.0; 8000]), None);
        assert_eq!(mean_db(&[]), None);
        assert_eq!(mean_db(&[0.5; 100]), None);
        // A pause between two voices is left out of the mean.
        let mut paused = voice(0.0, 8000);
        paused.extend([0.0; 8000]);
        paused.extend(voice(0.0, 8000));
        assert!(mean_db(&paused).unwrap() > 40.0);
    }

    #[test]
    fn pieces_have_the_bits_of_the_whole() {
        let mut signal = voice(0.05, 20_011);
        signal[8000..12_000].fill(0.0);
        let settings = HarmonicitySettings::default();
        for length in [0, 500, 20_011] {
            let signal = &signal[..length];
            let whole = Harmonicity::measure(signal, 16_000, settings).unwrap();
            for piece in [100, 7000] {
                let look = PraatLook::of(signal);
                let mut stream = HarmonicityStream::new(look, 16_000, settings).unwrap();
                let mut found = Harmonicity::default();
                for piece in signal.chunks(piece) {
                    stream.process(piece, |seconds, decibels| {
                        found.seconds.push(seconds);
                        found.decibels.push(decibels);
                    });
                }
                assert_eq!(found, whole, "{length} {piece}");
            }
        }
    }

    #[test]
    fn a_range_without_samples_is_refused() {
        for low_hz in [0.0, -1.0, f64::NAN, 4000.0] {
            let settings = HarmonicitySettings {
                low_hz,
                ..HarmonicitySettings::default()
            };
            assert!(Harmonicity::measure(&[0.0; 100], 16_000, settings).is_err());
        }
    }
}
