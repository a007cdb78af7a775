//! What the front end looks up: windows, where harmonics and periods of each pitch lie, and bands of loudness.
//! The CPU and the GPU see with the same numbers.

use std::f64::consts::TAU;
use std::ops::Range;

use warpsmith_lanes::Lanes;

/// What the network was trained at, and samples between its frames.
pub(super) const RATE: u32 = 16_000;
pub(super) const HOP: usize = 160;
/// The window of a frame, and the shorter one in which quick glides are seen.
pub(super) const WINDOW: usize = 1024;
pub(super) const SHORT: usize = 512;
/// Pitches of the table, a quarter tone apart.
pub(super) const PITCHES: usize = 100;
pub(super) const LOWEST: f64 = 55.0;
pub(super) const PER_OCTAVE: f64 = 24.0;
pub(super) const HARMONICS: [f64; 16] = [
    0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0, 14.0, 16.0,
];
/// Those at which the loudness itself is seen, too.
pub(super) const LOUD: [usize; 2] = [1, 3];
/// Periods after which the sound may repeat itself.
pub(super) const LAGS: [f64; 3] = [0.5, 1.0, 2.0];
pub(super) const CHANNELS: usize = HARMONICS.len() + LOUD.len() + 2 * LAGS.len();
/// Bins that are looked at: up to 6.4 kHz.
pub(super) const BINS: usize = 820;
/// Bins on either side over which the spectrum's own level is taken, and those of its middle.
pub(super) const AROUND: usize = 26;
pub(super) const MIDDLE: Range<usize> = 8..520;
/// Bands of the loudness as a whole.
pub(super) const MELS: usize = 32;
const BAND_EDGES_HZ: (f64, f64) = (80.0, 7600.0);

/// The mean square below which nothing is heard: −100 dBFS.
pub(super) const SILENCE: f32 = 1e-10;

/// A place between two numbers of a list.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) below: usize,
    pub(super) part: f32,
}

impl Place {
    fn new(place: f64, last: f64) -> Self {
        let place = place.min(last);
        Self {
            below: place as usize,
            part: place.fract() as f32,
        }
    }

    #[inline(always)]
    pub(super) fn of<V: Lanes>(self, values: &[V]) -> V {
        let (one, two) = (values[self.below], values[self.below + 1]);
        two.sub(one).mul_add(V::splat(self.part), one)
    }
}

fn pitch(number: usize) -> f64 {
    LOWEST * (number as f64 / PER_OCTAVE).exp2()
}

/// Hann's window for spectra.
pub(super) fn hann(length: usize) -> Vec<f32> {
    (0..length)
        .map(|n| (0.5 - 0.5 * (TAU * n as f64 / length as f64).cos()) as f32)
        .collect()
}

/// Where the harmonics of each pitch lie in the spectrum of the long window, `[harmonic, pitch]`.
pub(super) fn harmonics() -> Vec<Place> {
    let bin = |n: usize, harmonic: f64| pitch(n) * harmonic * (2 * WINDOW) as f64 / f64::from(RATE);
    HARMONICS
        .iter()
        .flat_map(|h| (0..PITCHES).map(move |n| Place::new(bin(n, *h), BINS as f64 - 1.001)))
        .collect()
}

/// Where the periods of each pitch lie in the correlation of a window, `[periods, pitch]`.
pub(super) fn lags(length: usize) -> Vec<Place> {
    let longest = 0.75 * length as f64;
    LAGS.iter()
        .flat_map(|periods| {
            (0..PITCHES).map(move |n| Place::new(f64::from(RATE) / pitch(n) * periods, longest))
        })
        .collect()
}

/// One over how alike a window is to itself, by lag, as far as lags are looked at.
pub(super) fn own(window: &[f32]) -> Vec<f32> {
    let alike = |lag: usize| -> f64 {
        let pairs = window.iter().zip(&window[lag..]);
        pairs.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    let whole = alike(0);
    (0..3 * window.len() / 4 + 2)
        .map(|lag| (1.0 / (alike(lag) / whole).max(0.02)) as f32)
        .collect()
}

/// Weights of neighbouring bins.
pub(super) struct Band {
    pub(super) first: usize,
    pub(super) weights: Vec<f32>,
}

/// The bands of loudness.
pub(super) fn bands() -> Vec<Band> {
    let mel = |hertz: f64| 1127.0 * (hertz / 700.0).ln_1p();
    let (low, high) = (mel(BAND_EDGES_HZ.0), mel(BAND_EDGES_HZ.1));
    let step = (high - low) / (MELS + 1) as f64;
    (0..MELS)
        .map(|n| {
            let edge = low + step * n as f64;
            let weight = |bin: usize| {
                let at = mel(bin as f64 * f64::from(RATE) / (2 * WINDOW) as f64);
                ((at - edge) / step).min((edge + 2.0 * step - at) / step)
            };
            let bins: Vec<usize> = (0..=WINDOW).filter(|bin| weight(*bin) > 0.0).collect();
            let sum: f64 = bins.iter().map(|bin| weight(*bin)).sum();
            Band {
                first: bins.first().copied().unwrap_or(0),
                weights: bins.iter().map(|bin| (weight(*bin) / sum) as f32).collect(),
            }
        })
        .collect()
}
