//! Resampling that keeps the whole band up to the lower Nyquist frequency and nothing above it, in double
//! precision, for analyses that look at the band's very edge: everything above is taken out of the
//! Fourier transform of the whole signal, and values between samples are sums of windowed sincs.
//!
//! Both are described in Praat's manual (*Sound: Resample*), and so are its results. Signals of more than half a
//! million samples are filtered in blocks with so many around them that what is farther away would have less than a
//! two-hundred-thousandth of a sample's weight.

use std::f64::consts::PI;

use crate::error::{Result, SignalError};
use crate::fourier::PreciseTransform;
use crate::kept::Kept;

/// Samples on either side that a value between samples is made of.
const DEPTH: usize = 50;

/// Silence on either side of what is transformed, samples, where what rings beyond one end does not reach the other.
const SILENCE: usize = 1000;

/// Points of the longest transform.
const POINTS: usize = 1 << 19;

/// Samples on either side that a block is filtered with, and samples that are filtered at a time.
const MARGIN: usize = 1 << 16;
const BLOCK: usize = POINTS - 2 * MARGIN - 2 * SILENCE;

/// A signal at another rate, and where its first sample lies.
pub struct BrickWall {
    /// The samples.
    pub samples: Vec<f64>,
    /// Seconds from the signal's start to the first sample.
    pub start: f64,
}

impl BrickWall {
    /// `signal` at `to_hz`: as long as before to the nearest sample, in the middle of its time.
    pub fn resample(signal: &[f32], from_hz: u32, to_hz: u32) -> Result<Self> {
        let mut stream = BrickWallStream::new(signal.len(), from_hz, to_hz)?;
        let start = stream.start();
        let mut samples = Vec::new();
        for piece in signal.chunks(BLOCK) {
            stream.process(piece, &mut samples);
        }
        Ok(Self { samples, start })
    }
}

/// The same for a signal that is heard piece by piece.
pub struct BrickWallStream {
    from: f64,
    to: f64,
    /// Samples of the signal and of the result.
    samples: usize,
    count: usize,
    /// Seconds from the signal's start to the first sample of the result.
    start: f64,
    arrived: Kept<f32>,
    /// Samples that went through the filter, where there is one.
    passed: Kept<f64>,
    next: usize,
}

impl BrickWallStream {
    /// A stream of `samples` samples, none of which was heard.
    pub fn new(samples: usize, from_hz: u32, to_hz: u32) -> Result<Self> {
        if from_hz == 0 || to_hz == 0 {
            return Err(SignalError::parameter(
                "sample rate",
                format!("{from_hz} to {to_hz} Hz"),
                "both rates must be above 0",
            ));
        }
        let (from, to) = (f64::from(from_hz), f64::from(to_hz));
        let seconds = samples as f64 / from;
        let count = (seconds * to).round() as usize;
        let start = if from_hz == to_hz {
            0.5 / from
        } else {
            0.5 * (seconds - (count as f64 - 1.0) / to)
        };
        Ok(Self {
            from,
            to,
            samples,
            count,
            start,
            arrived: Kept::default(),
            passed: Kept::default(),
            next: 0,
        })
    }

    /// Seconds from the signal's start to the first sample of the result.
    pub fn start(&self) -> f64 {
        self.start
    }

    /// Samples of the result.
    pub fn length(&self) -> usize {
        self.count
    }

    /// Takes the next samples; appends those of the result that they decide, with the last one all that are left.
    pub fn process(&mut self, piece: &[f32], out: &mut Vec<f64>) {
        if self.from == self.to {
            out.extend(piece.iter().map(|x| f64::from(*x)));
            return;
        }
        if self.to > self.from {
            for x in piece {
                self.passed.push_one(f64::from(*x));
            }
        } else {
            self.arrived.push(piece);
            self.filter();
        }
        let is_all = self.passed.end() >= self.samples;
        while self.next < self.count {
            let seconds = self.start + self.next as f64 / self.to;
            let place = seconds * self.from - 0.5;
            let right = place.max(0.0) as usize + DEPTH + 2;
            if !is_all && right > self.passed.end() {
                break;
            }
            out.push(between(&self.passed, self.samples, place));
            self.next += 1;
            if self.next.is_multiple_of(1 << 14) {
                self.passed
                    .forget((place.max(0.0) as usize).saturating_sub(2 * DEPTH));
            }
        }
    }

    /// Filters the blocks whose surroundings are there.
    fn filter(&mut self) {
        while self.passed.end() < self.samples {
            let begin = self.passed.end();
            let (end, whole) = if self.samples <= BLOCK + 2 * MARGIN {
                (self.samples, 0..self.samples)
            } else {
                let end = (begin + BLOCK).min(self.samples);
                let whole = begin.saturating_sub(MARGIN)..(end + MARGIN).min(self.samples);
                (end, whole)
            };
            if self.arrived.end() < whole.end {
                return;
            }
            let inside = SILENCE + begin - whole.start..SILENCE + end - whole.start;
            let filtered = low_passed(self.arrived.slice(whole), self.to / self.from);
            self.arrived.forget(end.saturating_sub(MARGIN));
            self.passed.push(&filtered[inside]);
        }
    }
}

/// What lies below `share` of the band, with the silence around it that was transformed too: a part of it is taken
/// when the tables of the transform, which are as large, are gone.
fn low_passed(samples: &[f32], share: f64) -> Vec<f64> {
    let length = (samples.len() + 2 * SILENCE).next_power_of_two();
    let mut padded = vec![0.0; length];
    for (slot, x) in padded[SILENCE..].iter_mut().zip(samples) {
        *slot = f64::from(*x);
    }
    let transform = PreciseTransform::new(length);
    transform.forward(&mut padded);
    // Of the frequency at the edge itself the real part alone may be left, as in Praat.
    let first = (share * length as f64).floor() as usize - 1;
    padded[1] = 0.0;
    padded[first.max(1)..].fill(0.0);
    transform.inverse(&mut padded);
    padded
}

/// The value at `place` of a signal of `count` samples, under a raised cosine that ends one sample after the last that
/// counts.
fn between(samples: &Kept<f64>, count: usize, place: f64) -> f64 {
    let last = count.saturating_sub(1);
    let floor = place.floor();
    let fraction = place - floor;
    let sample = |n: usize| samples.get(n).unwrap_or(0.0);
    if place < 0.0 || floor as usize >= last {
        let nearest = place.round().max(0.0) as usize;
        return sample(nearest.min(last));
    }
    let low = floor as usize;
    if fraction == 0.0 {
        return sample(low);
    }
    let depth = DEPTH.min(low + 1).min(last - low);
    if depth == 1 {
        return sample(low) + fraction * (sample(low + 1) - sample(low));
    }
    let sine = (PI * fraction).sin() / PI;
    let mut sum = 0.0;
    let (left, right) = (
        samples.slice(low + 1 - depth..low + 1),
        samples.slice(low + 1..low + 1 + depth),
    );
    for (nearest, is_left) in [(fraction, true), (1.0 - fraction, false)] {
        let span = nearest + depth as f64;
        let (turn_sin, turn_cos) = (PI / span).sin_cos();
        let (mut sin, mut cos) = (PI * nearest / span).sin_cos();
        let mut sign = 1.0;
        for n in 0..depth {
            let sample = if is_left {
                left[depth - 1 - n]
            } else {
                right[n]
            };
            sum += sign * sample * (0.5 + 0.5 * cos) / (nearest + n as f64);
            (sin, cos) = (
                sin * turn_cos + cos * turn_sin,
                cos * turn_cos - sin * turn_sin,
            );
            sign = -sign;
        }
    }
    sine * sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    const UP: [f64; 4] = [0.0, 0.5046222695020893, 0.8187125210259618, 1.28125];
    const DOWN: [f64; 4] = [
        -0.015794926231152487,
        1.02797458721833,
        0.3326856491206162,
        0.8395454515871186,
    ];

    fn tone(rate: u32, hertz: f64, samples: usize) -> Vec<f32> {
        (0..samples)
            .map(|n| (TAU * hertz * (n as f64 + 0.5) / f64::from(rate)).sin() as f32)
            .collect()
    }

    #[test]
    fn tones_below_the_edge_stay_and_those_above_go() {
        for (from, to) in [(16_000, 10_000), (44_100, 11_000), (8000, 11_000)] {
            let edge = f64::from(from.min(to)) / 2.0;
            let kept = BrickWall::resample(&tone(from, 0.9 * edge, 8000), from, to).unwrap();
            let middle = kept.samples.len() / 4..3 * kept.samples.len() / 4;
            for m in middle.clone() {
                let seconds = kept.start + m as f64 / f64::from(to);
                let wanted = (TAU * 0.9 * edge * seconds).sin();
                let error = (kept.samples[m] - wanted).abs();
                assert!(error < 2e-3, "{from} to {to}, {m}: {error}");
            }
            if to < from {
                let gone = BrickWall::resample(&tone(from, 1.1 * edge, 8000), from, to).unwrap();
                assert!(gone.samples[middle].iter().all(|x| x.abs() < 2e-3));
            }
        }
    }

    #[test]
    fn pieces_have_the_bits_of_the_whole_and_blocks_are_not_heard() {
        let length = 1_100_007;
        let signal: Vec<f32> = (0..length)
            .map(|n| ((n as u32).wrapping_mul(2_654_435_761) >> 8) as f32 / 16_777_216.0 - 0.5)
            .collect();
        for to in [10_000, 22_000] {
            let whole = BrickWall::resample(&signal, 16_000, to).unwrap();
            let mut stream = BrickWallStream::new(length, 16_000, to).unwrap();
            let mut found = Vec::new();
            for piece in signal.chunks(77_777) {
                stream.process(piece, &mut found);
                let kept = BLOCK + 3 * MARGIN + 2 * 77_777;
                assert!(stream.arrived.end() <= stream.passed.end() + kept);
            }
            assert_eq!(
                (found.len(), stream.length()),
                (whole.samples.len(), found.len())
            );
            assert!(found == whole.samples);
        }
        // One transform of all of it says the same of where two blocks meet.
        let middle = BLOCK - 500..BLOCK + 500;
        let one = low_passed(&signal, 0.625);
        let one = &one[SILENCE + middle.start..SILENCE + middle.end];
        let mut stream = BrickWallStream::new(length, 16_000, 10_000).unwrap();
        stream.arrived.push(&signal);
        stream.filter();
        for (a, b) in stream.passed.slice(middle).iter().zip(one) {
            assert!((a - b).abs() < 2e-4, "{a} and {b}");
        }
    }

    #[test]
    fn results_are_praats() {
        // Praat 6.1.38: `Resample: 11000, 50` and `Resample: 5000, 50` of this signal at 8000 Hz.
        let signal: Vec<f32> = (0..400)
            .map(|n| ((n * n * 7 + n) % 97) as f32 / 64.0)
            .collect();
        for (to, places, praat) in [
            (11_000, [0, 3, 200, 549], UP),
            (5000, [0, 3, 100, 249], DOWN),
        ] {
            let found = BrickWall::resample(&signal, 8000, to).unwrap();
            for (place, praat) in places.into_iter().zip(praat) {
                let error = (found.samples[place] - praat).abs();
                assert!(
                    error < 1e-9,
                    "{to}, {place}: {} and {praat}",
                    found.samples[place]
                );
            }
        }
        assert!(
            BrickWall::resample(&[], 8000, 11_000)
                .unwrap()
                .samples
                .is_empty()
        );
        assert!(BrickWall::resample(&signal, 8000, 0).is_err());
    }
}
