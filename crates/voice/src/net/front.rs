//! From samples to what the network sees, frames in the lanes; the arithmetic of `train.py`.

use std::f64::consts::TAU;

use warpsmith_lanes::{Lanes, Task, ln};
use warpsmith_signal::{RealBlock, energy};

use super::layers::{MARGIN, ROW};

/// What the network was trained at, and samples between its frames.
pub(super) const RATE: u32 = 16_000;
pub(super) const HOP: usize = 160;
/// The window of a frame, and the shorter one in which quick glides are seen.
pub(super) const WINDOW: usize = 1024;
const SHORT: usize = 512;
/// Pitches of the table, a quarter tone apart.
pub(super) const PITCHES: usize = 100;
pub(super) const LOWEST: f64 = 55.0;
pub(super) const PER_OCTAVE: f64 = 24.0;
const HARMONICS: [f64; 16] = [
    0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0, 14.0, 16.0,
];
/// Those at which the loudness itself is seen, too.
const LOUD: [usize; 2] = [1, 3];
/// Periods after which the sound may repeat itself.
const LAGS: [f64; 3] = [0.5, 1.0, 2.0];
pub(super) const CHANNELS: usize = HARMONICS.len() + LOUD.len() + 2 * LAGS.len();
/// Bins that are looked at: up to 6.4 kHz.
const BINS: usize = 820;
/// Bins on either side over which the spectrum's own level is taken, and those of its middle.
const AROUND: usize = 26;
const MIDDLE: std::ops::Range<usize> = 8..520;
/// Bands of the loudness as a whole.
pub(super) const MELS: usize = 32;
const BAND_EDGES_HZ: (f64, f64) = (80.0, 7600.0);

/// A frame as the network sees it.
#[derive(Clone)]
pub(super) struct Frame {
    /// `[channel, ROW]`.
    pub(super) rows: Vec<f32>,
    pub(super) bands: [f32; MELS],
    /// Whether there is nothing to be heard: the network was never asked what that is.
    pub(super) silent: bool,
}

/// The mean square below which nothing is heard: −100 dBFS.
const SILENCE: f32 = 1e-10;

/// A place between two numbers of a list.
#[derive(Clone, Copy)]
struct Place {
    below: usize,
    part: f32,
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
    fn of<V: Lanes>(self, values: &[V]) -> V {
        let (one, two) = (values[self.below], values[self.below + 1]);
        two.sub(one).mul_add(V::splat(self.part), one)
    }
}

/// Windows, transforms and places for one length of window.
struct Repetition<V> {
    window: Vec<f32>,
    transform: RealBlock<V>,
    bins: Vec<[V; 2]>,
    power: Vec<V>,
    /// How alike the window is to itself, one over it.
    own: Vec<f32>,
    correlation: Vec<V>,
    lags: Vec<Place>,
}

fn pitch(number: usize) -> f64 {
    LOWEST * (number as f64 / PER_OCTAVE).exp2()
}

fn hann(length: usize) -> Vec<f32> {
    (0..length)
        .map(|n| (0.5 - 0.5 * (TAU * n as f64 / length as f64).cos()) as f32)
        .collect()
}

impl<V: Lanes> Repetition<V> {
    fn new(length: usize) -> Self {
        let window = hann(length);
        let alike = |lag: usize| -> f64 {
            let pairs = window.iter().zip(&window[lag..]);
            pairs.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
        };
        let whole = alike(0);
        let longest = 0.75 * length as f64;
        let lags = LAGS.iter().flat_map(|periods| {
            (0..PITCHES).map(move |n| Place::new(f64::from(RATE) / pitch(n) * periods, longest))
        });
        let count = 3 * length / 4 + 2;
        Self {
            transform: RealBlock::new(2 * length),
            bins: vec![[V::splat(0.0); 2]; length + 1],
            power: vec![V::splat(0.0); length + 1],
            own: (0..count)
                .map(|lag| (1.0 / (alike(lag) / whole).max(0.02)) as f32)
                .collect(),
            correlation: vec![V::splat(0.0); count],
            lags: lags.collect(),
            window,
        }
    }

    /// The spectrum of the middle of frames of [`WINDOW`] samples, and how alike they are to themselves later.
    fn look(&mut self, samples: &[V]) {
        let skipped = (WINDOW - self.window.len()) / 2;
        let length = self.window.len();
        V::vectorize(WindowTask {
            window: &self.window,
            samples: &samples[skipped..][..length],
            out: self.transform.samples_mut(),
        });
        self.transform.forward(&mut self.bins);
        V::vectorize(PowerTask {
            bins: &mut self.bins,
            power: &mut self.power,
        });
        self.transform.inverse(&self.bins, &mut self.correlation);
        V::vectorize(AlikeTask {
            own: &self.own,
            scale: 0.5 / length as f32,
            correlation: &mut self.correlation,
        });
    }
}

/// A planned front end.
pub(super) struct Front<V> {
    long: Repetition<V>,
    short: Repetition<V>,
    harmonics: Vec<Place>,
    bands: Vec<Band>,
    samples: Vec<V>,
    level: Vec<V>,
    relief: Vec<V>,
    /// `[channel, pitch]`, then the bands.
    seen: Vec<V>,
}

/// Weights of neighbouring bins.
struct Band {
    first: usize,
    weights: Vec<f32>,
}

fn bands() -> Vec<Band> {
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

impl<V: Lanes> Front<V> {
    pub(super) fn new() -> Self {
        let bin =
            |n: usize, harmonic: f64| pitch(n) * harmonic * (2 * WINDOW) as f64 / f64::from(RATE);
        let harmonics = HARMONICS
            .iter()
            .flat_map(|h| (0..PITCHES).map(move |n| Place::new(bin(n, *h), BINS as f64 - 1.001)));
        Self {
            long: Repetition::new(WINDOW),
            short: Repetition::new(SHORT),
            harmonics: harmonics.collect(),
            bands: bands(),
            samples: vec![V::splat(0.0); WINDOW],
            level: vec![V::splat(0.0); BINS],
            relief: vec![V::splat(0.0); BINS],
            seen: vec![V::splat(0.0); CHANNELS * PITCHES + MELS],
        }
    }

    /// Appends the frames whose windows lie in `signal`, [`HOP`] apart, at most as many as there are lanes.
    pub(super) fn see(&mut self, signal: &[f32], frames: &mut Vec<Frame>) {
        let windows = signal.windows(WINDOW).step_by(HOP).take(V::WIDTH);
        let count = windows.len();
        let lanes = V::floats_mut(&mut self.samples);
        lanes.fill(0.0);
        for (lane, window) in windows.enumerate() {
            for (slot, sample) in lanes[lane..].iter_mut().step_by(V::WIDTH).zip(window) {
                *slot = *sample;
            }
        }
        self.long.look(&self.samples);
        self.short.look(&self.samples);
        V::vectorize(SeeTask {
            power: &self.long.power,
            level: &mut self.level,
            relief: &mut self.relief,
            harmonics: &self.harmonics,
            bands: &self.bands,
            repetitions: [
                (&self.long.correlation, &self.long.lags),
                (&self.short.correlation, &self.short.lags),
            ],
            seen: &mut self.seen,
        });
        let seen = V::floats(&self.seen);
        let windows = signal.windows(WINDOW).step_by(HOP);
        for (lane, window) in (0..count).zip(windows) {
            let mut frame = Frame {
                rows: vec![0.0; CHANNELS * ROW],
                bands: [0.0; MELS],
                silent: energy(window) < SILENCE * WINDOW as f32,
            };
            let mut values = seen[lane..].iter().step_by(V::WIDTH);
            for row in frame.rows.chunks_exact_mut(ROW) {
                for (slot, value) in row[MARGIN..][..PITCHES].iter_mut().zip(&mut values) {
                    *slot = *value;
                }
            }
            for (slot, value) in frame.bands.iter_mut().zip(values) {
                *slot = *value;
            }
            frames.push(frame);
        }
    }
}

struct WindowTask<'a, V> {
    window: &'a [f32],
    samples: &'a [V],
    out: &'a mut [V],
}

impl<V: Lanes> Task for WindowTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        let (heard, zeros) = self.out.split_at_mut(self.window.len());
        for ((out, sample), weight) in heard.iter_mut().zip(self.samples).zip(self.window) {
            *out = sample.mul(V::splat(*weight));
        }
        zeros.fill(V::splat(0.0));
    }
}

/// Power, which is also the spectrum of the correlation.
struct PowerTask<'a, V> {
    bins: &'a mut [[V; 2]],
    power: &'a mut [V],
}

impl<V: Lanes> Task for PowerTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        for (bin, power) in self.bins.iter_mut().zip(self.power) {
            let [re, im] = *bin;
            *power = re.mul_add(re, im.mul(im));
            *bin = [*power, V::splat(0.0)];
        }
    }
}

struct AlikeTask<'a, V> {
    own: &'a [f32],
    scale: f32,
    correlation: &'a mut [V],
}

impl<V: Lanes> Task for AlikeTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        let scale = V::splat(self.scale);
        let whole = self.correlation[0].mul(scale).add(V::splat(1e-7));
        // Twice, so that channels are about as large as each other.
        let share = V::splat(2.0).mul(scale).div(whole);
        for (value, own) in self.correlation.iter_mut().zip(self.own) {
            *value = value.mul(share).mul(V::splat(*own));
        }
    }
}

struct SeeTask<'a, V> {
    power: &'a [V],
    level: &'a mut [V],
    relief: &'a mut [V],
    harmonics: &'a [Place],
    bands: &'a [Band],
    repetitions: [(&'a Vec<V>, &'a Vec<Place>); 2],
    seen: &'a mut [V],
}

impl<V: Lanes> Task for SeeTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        let level = self.level;
        for (level, power) in level.iter_mut().zip(self.power) {
            *level = ln(power.add(V::splat(1e-9)));
        }
        // The spectrum's own level around each bin is taken away: harmonics stay. Beyond the ends it
        // goes on as it is there.
        let at = |bin: isize| level[bin.clamp(0, BINS as isize - 1) as usize];
        let reach = AROUND as isize;
        let mut sum = V::splat(0.0);
        for bin in -reach..reach {
            sum = sum.add(at(bin));
        }
        let share = V::splat(1.0 / (2 * AROUND + 1) as f32);
        for (bin, relief) in self.relief.iter_mut().enumerate() {
            let bin = bin as isize;
            sum = sum.add(at(bin + reach));
            *relief = sum.neg_mul_add(share, at(bin)).mul(V::splat(0.5));
            sum = sum.sub(at(bin - reach));
        }
        let mut seen = self.seen.iter_mut();
        for (place, seen) in self.harmonics.iter().zip(&mut seen) {
            *seen = place.of(self.relief);
        }
        let mut middle = V::splat(0.0);
        for level in &level[MIDDLE] {
            middle = middle.add(*level);
        }
        let middle = middle.mul(V::splat(1.0 / MIDDLE.len() as f32));
        for harmonic in LOUD {
            for (place, seen) in self.harmonics[harmonic * PITCHES..][..PITCHES]
                .iter()
                .zip(&mut seen)
            {
                *seen = place.of(level).sub(middle).mul(V::splat(0.25));
            }
        }
        for (correlation, lags) in self.repetitions {
            for (place, seen) in lags.iter().zip(&mut seen) {
                *seen = place.of(correlation);
            }
        }
        for (band, seen) in self.bands.iter().zip(&mut seen) {
            let mut sum = V::splat(1e-7);
            for (power, weight) in self.power[band.first..].iter().zip(&band.weights) {
                sum = power.mul_add(V::splat(*weight), sum);
            }
            *seen = ln(sum).mul(V::splat(0.25));
        }
    }
}
