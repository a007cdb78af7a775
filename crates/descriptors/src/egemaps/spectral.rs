//! What 20 ms every 10 ms say: loudness, balance and slope of the spectrum, its change, and cepstra.

use std::f64::consts::{PI, TAU};
use std::ops::Range;

use warpsmith_signal::Kept;
use warpsmith_voice::signal::PreciseTransform;
use warpsmith_voice::{Symmetry, Window};

use super::RATE;
use super::formants::{FORMANTS, Formant, Formants};

/// Samples of a frame and between frames, and points of its transform.
const FRAME: usize = 320;
pub(super) const HOP: usize = 160;
pub(super) const POINTS: usize = 512;
/// Hertz of a bin.
const BIN_HZ: f64 = RATE as f64 / POINTS as f64;

/// Bins of bands: up to 1 kHz, 1 to 5 kHz, up to 2 kHz, 2 to 5 kHz, and up to 5 kHz.
const LOW: Range<usize> = 0..32;
const HIGH: Range<usize> = 32..161;
const LOW_PEAK: Range<usize> = 0..64;
const HIGH_PEAK: Range<usize> = 64..161;
const FLUX: Range<usize> = 0..160;
/// Edges of the slopes, bins: 0 to 500 Hz and 500 to 1500 Hz.
const SLOPES: [(usize, usize); 2] = [(0, 16), (16, 48)];

/// Mel bands, and the first bin that they take.
const BANDS: usize = 26;
const FIRST_BIN: usize = 2;
/// What a sum of compressed bands is multiplied with.
const LOUDNESS_SCALE: f64 = 0.069_021_908;
/// Full scale of the integers that the cepstra are of.
const FULL_SCALE: f64 = 32_767.0;
/// The length of the lifter.
const LIFTER: f64 = 22.0;
/// Powers below count as this.
const FLOOR: f64 = 1e-20;

/// Samples of silence before a frame in its transform, and as many after it.
const BEFORE: usize = (POINTS - FRAME) / 2;

/// What a frame says.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SpectralFrame {
    pub(super) loudness: f64,
    pub(super) alpha_ratio: f64,
    pub(super) hammarberg: f64,
    /// 0 to 500 Hz, and 500 to 1500 Hz.
    pub(super) slopes: [f64; 2],
    pub(super) flux: f64,
    /// The first to the fourth.
    pub(super) cepstra: [f64; 4],
    pub(super) formants: [Formant; FORMANTS],
}

/// Frames that follow each other.
pub(super) struct Spectral {
    window: Vec<f64>,
    transform: PreciseTransform,
    bank: MelBank,
    formants: Formants,
    before: Option<Vec<f64>>,
    /// Frames that were seen, and their mean squares together.
    frames: usize,
    energy: f64,
}

impl Spectral {
    pub(super) fn new() -> Self {
        Self {
            window: Window::Hamming.values(FRAME, Symmetry::Symmetric),
            transform: PreciseTransform::new(POINTS),
            bank: MelBank::new(),
            formants: Formants::new(),
            before: None,
            frames: 0,
            energy: 0.0,
        }
    }

    /// The first sample that is still looked at.
    pub(super) fn needs(&self) -> usize {
        self.frames * HOP
    }

    /// Shows the frames that have come.
    pub(super) fn process(&mut self, signal: &Kept<f32>, mut see: impl FnMut(SpectralFrame)) {
        while self.needs() + FRAME <= signal.end() {
            let frame = signal.slice(self.needs()..self.needs() + FRAME);
            see(self.of(frame));
            self.frames += 1;
        }
    }

    /// The mean square of all frames.
    pub(super) fn mean_square(&self) -> f64 {
        self.energy / self.frames.max(1) as f64
    }

    fn of(&mut self, frame: &[f32]) -> SpectralFrame {
        let mut samples = vec![0.0f64; POINTS];
        let windowed = frame.iter().zip(&self.window);
        for (slot, (x, weight)) in samples[BEFORE..].iter_mut().zip(windowed) {
            *slot = f64::from(*x) * weight;
        }
        self.energy += frame.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / FRAME as f64;
        let power = power(&self.transform, &mut samples);
        let sum = |bins: Range<usize>| power[bins].iter().sum::<f64>().max(FLOOR);
        let peak = |bins: Range<usize>| power[bins].iter().copied().fold(FLOOR, f64::max);
        let changes = self.before.as_ref().map(|before| {
            let pairs = power[FLUX].iter().zip(&before[FLUX]);
            pairs.map(|(a, b)| (a.sqrt() - b.sqrt()).powi(2)).sum()
        });
        let flux: f64 = changes.unwrap_or(0.0);
        let bands = self.bank.bands(&power);
        let found = SpectralFrame {
            loudness: self.bank.loudness(&bands),
            alpha_ratio: decibel(sum(HIGH) / sum(LOW)),
            hammarberg: decibel(peak(LOW_PEAK) / peak(HIGH_PEAK)),
            slopes: SLOPES.map(|edges| band_slope(&power, edges)),
            flux: (flux / FLUX.len() as f64).sqrt(),
            cepstra: [1, 2, 3, 4].map(|number| self.bank.cepstrum(&bands, number)),
            formants: self.formants.of(&samples),
        };
        self.before = Some(power);
        found
    }
}

/// The powers of the bins of `samples`, which become their packed spectrum.
pub(super) fn power(transform: &PreciseTransform, samples: &mut [f64]) -> Vec<f64> {
    transform.forward(samples);
    let (ends, between) = samples.split_at(2);
    let mut power = Vec::with_capacity(samples.len() / 2 + 1);
    power.push(ends[0] * ends[0]);
    power.extend(
        between
            .chunks_exact(2)
            .map(|bin| bin[0] * bin[0] + bin[1] * bin[1]),
    );
    power.push(ends[1] * ends[1]);
    power
}

fn decibel(ratio: f64) -> f64 {
    10.0 * ratio.log10()
}

/// Slope of the level from one bin to another, dB/Hz. openSMILE's regression counts the bands between the
/// bins and sums over the bins, which are one more.
fn band_slope(power: &[f64], (low, high): (usize, usize)) -> f64 {
    let count = (high - low) as f64;
    let (mut sum_k, mut squares, mut levels, mut products) = (0.0, 0.0, 0.0, 0.0);
    for (bin, power) in power.iter().enumerate().take(high + 1).skip(low) {
        let (k, level) = (bin as f64, decibel(power.max(FLOOR)));
        sum_k += k;
        squares += k * k;
        levels += level;
        products += k * level;
    }
    let slope = (count * products - sum_k * levels) / (count * squares - sum_k * sum_k);
    slope / BIN_HZ
}

/// Triangles over mel, with how loud an ear hears them.
struct MelBank {
    /// `[band, bin]`.
    weights: Vec<Vec<f64>>,
    /// Equal loudness at the middle of each.
    ear: Vec<f64>,
}

impl MelBank {
    fn new() -> Self {
        let mel = |hertz: f64| 1127.0 * (1.0 + hertz / 700.0).ln();
        let (low, high) = (mel(20.0), mel(8000.0));
        let edge = |n: usize| low + (high - low) * n as f64 / (BANDS + 1) as f64;
        let weights = (0..BANDS)
            .map(|band| {
                let [left, middle, right] = [band, band + 1, band + 2].map(edge);
                (0..=POINTS / 2)
                    .map(|bin| {
                        let here = mel(bin as f64 * BIN_HZ);
                        let up = (here - left) / (middle - left);
                        let down = (right - here) / (right - middle);
                        if bin < FIRST_BIN {
                            0.0
                        } else {
                            up.min(down).max(0.0)
                        }
                    })
                    .collect()
            })
            .collect();
        let hertz = |mel: f64| 700.0 * ((mel / 1127.0).exp() - 1.0);
        let ear = (0..BANDS)
            .map(|band| equal_loudness(hertz(edge(band + 1))))
            .collect();
        Self { weights, ear }
    }

    fn bands(&self, power: &[f64]) -> Vec<f64> {
        let sum = |weights: &Vec<f64>| weights.iter().zip(power).map(|(w, p)| w * p).sum();
        self.weights.iter().map(sum).collect()
    }

    fn loudness(&self, bands: &[f64]) -> f64 {
        let heard = bands.iter().zip(&self.ear);
        LOUDNESS_SCALE
            * heard
                .map(|(band, ear)| (band * ear).powf(0.33))
                .sum::<f64>()
    }

    fn cepstrum(&self, bands: &[f64], number: usize) -> f64 {
        let n = number as f64;
        let sum: f64 = bands
            .iter()
            .enumerate()
            .map(|(band, power)| {
                let level = (power * FULL_SCALE * FULL_SCALE).max(1e-8).ln();
                level * (PI * n * (band as f64 + 0.5) / BANDS as f64).cos()
            })
            .sum();
        let lifter = 1.0 + 0.5 * LIFTER * (PI * n / LIFTER).sin();
        lifter * (2.0 / BANDS as f64).sqrt() * sum
    }
}

/// Hermansky's curve of equal loudness, and its fall at high frequencies, as openSMILE's numbers have it.
fn equal_loudness(hertz: f64) -> f64 {
    let w = TAU * hertz;
    let w2 = w * w;
    let curve = (w2 + 56.8e6) * w2 * w2 / ((w2 + 6.3e6).powi(2) * (w2 + 0.38e9));
    curve / (1.0 + w.powi(7) / 1.7e31)
}
