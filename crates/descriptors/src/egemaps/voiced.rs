//! What 60 ms every 10 ms say of a voice: its pitch, how regular it is, and its harmonics and formants.

use crate::quality::find_pulses;
use warpsmith_voice::formants::{FormantSettings, FormantTracker};
use warpsmith_voice::signal::PreciseTransform;
use warpsmith_voice::{PitchRange, PraatPitch, PraatSettings, PraatTrack, Result};

use super::RATE;
use super::functionals::STEP_SECONDS;
use super::spectral::{HOP, power};

/// Samples of a frame, and points of its transform.
const FRAME: usize = 960;
const POINTS: usize = 1024;
/// Seconds of half a frame.
const HALF_SECONDS: f64 = 0.03;
/// Width of the Gaussian window, in halves of the frame.
const SIGMA: f64 = 0.4;
/// Frames whose windowed root mean square is below are not voiced.
const QUIET: f64 = 0.001;
/// Frequencies of a voice.
const RANGE: PitchRange = PitchRange {
    low_hz: 55.0,
    high_hz: 1000.0,
};
/// How periodic a voiced frame is: more than Praat's 0.45, because openSMILE calls fewer frames voiced.
const VOICING: f64 = 0.55;
/// The tone that semitones are counted from, Hz.
const LOWEST_TONE: f64 = 27.5;
/// How far from the pitch's period the top of the autocorrelation may be, as a share.
const PERIOD_SLACK: f64 = 0.1;
/// Harmonics that are looked at.
const HARMONICS: usize = 100;
/// Level of a formant that no harmonic is near, dB.
const NO_LEVEL: f64 = -201.0;
/// Formants that are described.
pub(super) const FORMANTS: usize = 3;

/// Contours of all frames; 0 where a frame is not voiced.
#[derive(Default)]
pub(super) struct Voiced {
    /// Semitones above 27.5 Hz.
    pub(super) semitones: Vec<f64>,
    pub(super) jitter: Vec<f64>,
    pub(super) shimmer: Vec<f64>,
    pub(super) harmonicity: Vec<f64>,
    /// First harmonic above the pitch to the second, and to the strongest one near the third formant, dB.
    pub(super) first_to_second: Vec<f64>,
    pub(super) first_to_third_formant: Vec<f64>,
    /// Frequency and bandwidth, Hz, and level over the pitch, dB; the last of unvoiced frames,
    /// too.
    pub(super) formants: [[Vec<f64>; 3]; FORMANTS],
}

impl Voiced {
    /// Of a signal at [`RATE`].
    pub(super) fn of(signal: &[f32]) -> Result<Self> {
        let settings = PraatSettings {
            voicing: VOICING,
            ..PraatSettings::default()
        };
        let track = PraatPitch::new(RATE, HOP, RANGE, settings)?.track(signal);
        let pulses = Pulses::of(signal, &track);
        let formants = Formants::of(signal)?;
        let window = gaussian();
        let transform = PreciseTransform::new(POINTS);
        let mut contours = Self::default();
        for (n, frame) in signal.windows(FRAME).step_by(HOP).enumerate() {
            let mut samples = vec![0.0f64; POINTS];
            for (slot, (x, weight)) in samples.iter_mut().zip(frame.iter().zip(&window)) {
                *slot = f64::from(*x) * weight;
            }
            let energy: f64 = samples.iter().map(|x| x * x).sum();
            let start = n as f64 * STEP_SECONDS;
            let middle = start + HALF_SECONDS;
            let hertz = nearest(&track, middle).filter(|_| (energy / FRAME as f64).sqrt() > QUIET);
            let Some(hertz) = hertz else {
                contours.push_unvoiced();
                continue;
            };
            let spectrum = Harmonics {
                power: power(&transform, &mut samples),
                hertz,
            };
            contours
                .semitones
                .push(12.0 * (hertz / LOWEST_TONE).log2().max(1e-6));
            let [jitter, shimmer] = pulses.around(middle);
            contours.jitter.push(jitter);
            contours.shimmer.push(shimmer);
            contours.harmonicity.push(spectrum.harmonicity(&transform));
            // openSMILE's H1 is the first harmonic above the pitch; levels of formants are over the pitch.
            let [pitch, first, second] = [1, 2, 3].map(|number| spectrum.level(number));
            contours.first_to_second.push(first - second);
            let found = formants.at(start + STEP_SECONDS);
            let levels = found.map(|[hertz, _]| spectrum.strongest_near(hertz));
            contours
                .first_to_third_formant
                .push(levels[2].map_or(0.0, |level| first - level));
            for ((slots, [hertz, width]), level) in
                contours.formants.iter_mut().zip(found).zip(levels)
            {
                slots[0].push(hertz);
                slots[1].push(width);
                slots[2].push(level.map_or(NO_LEVEL, |level| level - pitch));
            }
        }
        Ok(contours)
    }

    fn push_unvoiced(&mut self) {
        for contour in [
            &mut self.semitones,
            &mut self.jitter,
            &mut self.shimmer,
            &mut self.harmonicity,
            &mut self.first_to_second,
            &mut self.first_to_third_formant,
        ] {
            contour.push(0.0);
        }
        for [hertz, width, level] in &mut self.formants {
            hertz.push(0.0);
            width.push(0.0);
            level.push(NO_LEVEL);
        }
    }
}

fn gaussian() -> Vec<f64> {
    let half = (FRAME - 1) as f64 / 2.0;
    (0..FRAME)
        .map(|n| (-0.5 * ((n as f64 - half) / (SIGMA * half)).powi(2)).exp())
        .collect()
}

/// The pitch of the frame of the track at a time.
fn nearest(track: &PraatTrack, seconds: f64) -> Option<f64> {
    let first = track.seconds.first()?;
    let frame = ((seconds - first) / STEP_SECONDS).round();
    let hertz = track.frequency.get(frame.max(0.0) as usize)?;
    (*hertz > 0.0).then_some(f64::from(*hertz))
}

/// The spectrum of a voiced frame.
struct Harmonics {
    power: Vec<f64>,
    hertz: f64,
}

impl Harmonics {
    /// Level of a harmonic: the largest bin within a quarter of the pitch, dB.
    fn level(&self, number: usize) -> f64 {
        let bins = self.hertz * POINTS as f64 / f64::from(RATE);
        let middle = number as f64 * bins;
        let from = (middle - 0.25 * bins).floor().max(0.0) as usize;
        let to = ((middle + 0.25 * bins).ceil() as usize + 1).min(self.power.len());
        let largest = self.power.get(from..to).unwrap_or_default();
        10.0 * largest.iter().copied().fold(1e-20, f64::max).log10()
    }

    /// Level of the strongest harmonic within 20 % of a formant, at least the nearest one.
    fn strongest_near(&self, formant: f64) -> Option<f64> {
        let number = |hertz: f64| (hertz / self.hertz).round().max(1.0) as usize;
        let (low, high) = (number(0.8 * formant), number(1.2 * formant));
        let levels = (low..=high.min(HARMONICS)).map(|n| self.level(n));
        levels.reduce(f64::max).filter(|_| formant > 0.0)
    }

    /// The autocorrelation's top near the period against the rest, dB.
    fn harmonicity(&self, transform: &PreciseTransform) -> f64 {
        let mut packed = vec![0.0f64; POINTS];
        packed[0] = self.power[0];
        packed[1] = self.power[POINTS / 2];
        for (pair, power) in packed[2..].chunks_exact_mut(2).zip(&self.power[1..]) {
            pair[0] = *power;
        }
        transform.inverse(&mut packed);
        let period = f64::from(RATE) / self.hertz;
        let from = ((1.0 - PERIOD_SLACK) * period).max(1.0) as usize;
        let to = ((1.0 + PERIOD_SLACK) * period) as usize + 2;
        let around = &packed[from..to.min(POINTS / 2)];
        let top = around.iter().copied().fold(0.0, f64::max) / packed[0].max(1e-30);
        10.0 * (top.max(1e-10) / (1.0 - top).max(1e-10)).log10()
    }
}

/// Glottal pulses with the peak of the wave at each.
struct Pulses {
    seconds: Vec<f64>,
    peaks: Vec<f64>,
}

impl Pulses {
    fn of(signal: &[f32], track: &PraatTrack) -> Self {
        let seconds = find_pulses(signal, RATE, track);
        let sample = |seconds: f64| ((seconds * f64::from(RATE)) as usize).min(signal.len());
        let peaks = seconds
            .iter()
            .map(|at| {
                let near = &signal[sample(at - 0.002)..sample(at + 0.002)];
                f64::from(near.iter().fold(0.0f32, |most, x| most.max(x.abs())))
            })
            .collect();
        Self { seconds, peaks }
    }

    /// Jitter, and shimmer in dB, of the pulses in 60 ms around a time; zeros of fewer than three.
    fn around(&self, middle: f64) -> [f64; 2] {
        let from = self
            .seconds
            .partition_point(|at| *at < middle - HALF_SECONDS);
        let to = self
            .seconds
            .partition_point(|at| *at < middle + HALF_SECONDS);
        let (mut jitter, mut shimmer, mut periods, mut count) = (0.0, 0.0, 0.0, 0.0);
        for n in from..to.saturating_sub(2) {
            let first = self.seconds[n + 1] - self.seconds[n];
            let second = self.seconds[n + 2] - self.seconds[n + 1];
            // Pulses of two stretches of voice are no period.
            if first.max(second) > 1.3 * first.min(second) {
                continue;
            }
            let [a, b] = [self.peaks[n], self.peaks[n + 1]].map(|peak| peak.max(1e-6));
            jitter += (second - first).abs();
            shimmer += (20.0 * (b / a).log10()).abs();
            periods += f64::midpoint(first, second);
            count += 1.0;
        }
        if count == 0.0 {
            return [0.0; 2];
        }
        [jitter / periods, shimmer / count]
    }
}

/// Formants of frames of their own.
struct Formants {
    frames: Vec<[[f64; 2]; FORMANTS]>,
    first_seconds: f64,
}

impl Formants {
    fn of(signal: &[f32]) -> Result<Self> {
        let settings = FormantSettings::default();
        let tracked = FormantTracker::new(RATE, settings)?.track(signal);
        let seconds = signal.len() as f64 / f64::from(RATE);
        let span = tracked.len().saturating_sub(1) as f64 * settings.hop_seconds;
        let frames = tracked
            .iter()
            .map(|formants| {
                let mut found = [[0.0; 2]; FORMANTS];
                for (slot, formant) in found.iter_mut().zip(formants) {
                    *slot = [f64::from(formant.frequency), f64::from(formant.bandwidth)];
                }
                found
            })
            .collect();
        Ok(Self {
            frames,
            first_seconds: (seconds - span) / 2.0,
        })
    }

    /// Frequency and bandwidth of the first formants at a time; zeros where there is none.
    fn at(&self, seconds: f64) -> [[f64; 2]; FORMANTS] {
        let step = FormantSettings::default().hop_seconds;
        let frame = ((seconds - self.first_seconds) / step).round().max(0.0);
        self.frames
            .get(frame as usize)
            .copied()
            .unwrap_or([[0.0; 2]; FORMANTS])
    }
}
