//! Resampling that keeps the whole band up to the lower Nyquist frequency and nothing above it, in double
//! precision, for analyses that look at the band's very edge: everything above is taken out of the
//! Fourier transform of the whole signal, and values between samples are sums of windowed sincs.
//!
//! Both are described in Praat's manual (*Sound: Resample*), and so are its results.

use std::f64::consts::PI;

use crate::error::{Result, SignalError};
use crate::fourier::PreciseTransform;

/// Samples on either side that a value between samples is made of.
const DEPTH: usize = 50;

/// Silence on either side of the signal, samples, where what rings beyond one end does not reach the other.
const SILENCE: usize = 1000;

/// A signal at another rate, and where its first sample lies.
pub struct BrickWall {
    /// The samples.
    pub samples: Vec<f64>,
    /// Seconds from the signal's start to the first sample.
    pub start: f64,
}

impl BrickWall {
    /// Values of 8 bytes that are taken beside the result for a signal of so many samples.
    pub fn scratch(samples: usize) -> usize {
        2 * samples
            .saturating_add(2 * SILENCE)
            .checked_next_power_of_two()
            .unwrap_or(usize::MAX / 2)
    }

    /// `signal` at `to_hz`: as long as before to the nearest sample, in the middle of its time.
    pub fn resample(signal: &[f32], from_hz: u32, to_hz: u32) -> Result<Self> {
        if from_hz == 0 || to_hz == 0 {
            return Err(SignalError::parameter(
                "sample rate",
                format!("{from_hz} to {to_hz} Hz"),
                "both rates must be above 0",
            ));
        }
        let (from, to) = (f64::from(from_hz), f64::from(to_hz));
        let samples: Vec<f64> = signal.iter().map(|x| f64::from(*x)).collect();
        if from_hz == to_hz {
            let start = 0.5 / from;
            return Ok(Self { samples, start });
        }
        let samples = if to_hz < from_hz {
            low_passed(&samples, to / from)
        } else {
            samples
        };
        let seconds = signal.len() as f64 / from;
        let count = (seconds * to).round() as usize;
        let start = 0.5 * (seconds - (count as f64 - 1.0) / to);
        let place = |m: usize| (start + m as f64 / to) * from - 0.5;
        Ok(Self {
            samples: (0..count).map(|m| between(&samples, place(m))).collect(),
            start,
        })
    }
}

/// What lies below `share` of the band.
fn low_passed(samples: &[f64], share: f64) -> Vec<f64> {
    let length = (samples.len() + 2 * SILENCE).next_power_of_two();
    let mut padded = vec![0.0; length];
    padded[SILENCE..SILENCE + samples.len()].copy_from_slice(samples);
    let transform = PreciseTransform::new(length);
    transform.forward(&mut padded);
    // Of the frequency at the edge itself the real part alone may be left, as in Praat.
    let first = (share * length as f64).floor() as usize - 1;
    padded[1] = 0.0;
    padded[first.max(1)..].fill(0.0);
    transform.inverse(&mut padded);
    padded[SILENCE..SILENCE + samples.len()].to_vec()
}

/// The value of `samples` at `place`, under a raised cosine that ends one sample after the last that counts.
fn between(samples: &[f64], place: f64) -> f64 {
    let last = samples.len().saturating_sub(1);
    let floor = place.floor();
    let fraction = place - floor;
    if place < 0.0 || floor as usize >= last {
        let nearest = place.round().max(0.0) as usize;
        return samples.get(nearest.min(last)).copied().unwrap_or(0.0);
    }
    let low = floor as usize;
    if fraction == 0.0 {
        return samples[low];
    }
    let depth = DEPTH.min(low + 1).min(last - low);
    if depth == 1 {
        return samples[low] + fraction * (samples[low + 1] - samples[low]);
    }
    let sine = (PI * fraction).sin() / PI;
    let mut sum = 0.0;
    let (left, right) = samples.split_at(low + 1);
    for (nearest, is_left) in [(fraction, true), (1.0 - fraction, false)] {
        let span = nearest + depth as f64;
        let (turn_sin, turn_cos) = (PI / span).sin_cos();
        let (mut sin, mut cos) = (PI * nearest / span).sin_cos();
        let mut sign = 1.0;
        for n in 0..depth {
            let sample = if is_left { left[low - n] } else { right[n] };
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
