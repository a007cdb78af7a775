//! From samples to what the network sees, frames in the lanes; the arithmetic of `train.py`.

use warpsmith_lanes::{Lanes, Task, ln};
use warpsmith_signal::{RealBlock, energy};

use super::layers::{MARGIN, ROW};
use super::tables::{
    AROUND, BINS, Band, CHANNELS, HOP, LOUD, MELS, MIDDLE, PITCHES, Place, SHORT, SILENCE, WINDOW,
    bands, hann, harmonics, lags, own,
};
use crate::frame::window_task::WindowTask;

/// A frame as the network sees it.
#[derive(Clone)]
pub(super) struct Frame {
    /// `[channel, ROW]`.
    pub(super) rows: Vec<f32>,
    pub(super) bands: [f32; MELS],
    /// Whether there is nothing to be heard: the network was never asked what that is.
    pub(super) silent: bool,
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

impl<V: Lanes> Repetition<V> {
    fn new(length: usize) -> Self {
        let window = hann(length);
        let own = own(&window);
        Self {
            transform: RealBlock::new(2 * length),
            bins: vec![[V::splat(0.0); 2]; length + 1],
            power: vec![V::splat(0.0); length + 1],
            correlation: vec![V::splat(0.0); own.len()],
            own,
            lags: lags(length),
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

impl<V: Lanes> Front<V> {
    pub(super) fn new() -> Self {
        Self {
            long: Repetition::new(WINDOW),
            short: Repetition::new(SHORT),
            harmonics: harmonics(),
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
