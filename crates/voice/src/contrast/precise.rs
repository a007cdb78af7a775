//! Frames whose quietest bins lie so far below the loudest that single precision has only its own rounding
//! there, such as speech without its lows, or music that was cut off by a codec: once more in double precision.

use warpsmith_signal::{Conditioning, Framing, PreciseTransform, SpectrumSettings};

/// Below this share of the loudest bin, rounding moves the quietest by a thousandth of a decibel and more.
const DEEP: f32 = 1e-4;

/// Magnitudes of single frames in double precision.
pub(super) struct PreciseMagnitudes {
    framing: Framing,
    /// Where the window begins in a frame.
    from: usize,
    window: Vec<f64>,
    transform: PreciseTransform,
    scratch: Vec<f64>,
}

impl PreciseMagnitudes {
    /// For transforms of a power of two of frames that are only windowed; there is none for others.
    pub(super) fn new(settings: SpectrumSettings) -> Option<Self> {
        let SpectrumSettings {
            framing,
            transform,
            window,
            window_length,
            symmetry,
            conditioning,
        } = settings;
        let known = transform.is_power_of_two()
            && transform >= 4
            && conditioning == Conditioning::default();
        known.then(|| Self {
            framing,
            from: framing.length.saturating_sub(window_length) / 2,
            window: window.values(window_length, symmetry),
            transform: PreciseTransform::new(transform),
            scratch: vec![0.0; transform],
        })
    }

    /// Replaces the magnitudes, `[bin, frame]`, of the frames that need it.
    pub(super) fn replace_deep(&mut self, signal: &[f32], frames: usize, magnitudes: &mut [f32]) {
        if frames == 0 {
            return;
        }
        let mut ends = vec![(f32::INFINITY, 0.0f32); frames];
        for row in magnitudes.chunks_exact(frames) {
            for ((low, high), value) in ends.iter_mut().zip(row) {
                (*low, *high) = (low.min(*value), high.max(*value));
            }
        }
        for (frame, (low, high)) in ends.into_iter().enumerate() {
            if low >= DEEP * high {
                continue;
            }
            let start = (frame * self.framing.hop) as i64 - self.framing.left() as i64;
            self.scratch.fill(0.0);
            for (n, (slot, weight)) in
                (self.from..).zip(self.scratch[self.from..].iter_mut().zip(&self.window))
            {
                let source = self.framing.source(start + n as i64, signal.len());
                *slot = source.map_or(0.0, |at| f64::from(signal[at]) * weight);
            }
            self.transform.forward(&mut self.scratch);
            let last = self.scratch.len() / 2;
            for (bin, row) in magnitudes.chunks_exact_mut(frames).enumerate() {
                let power = match bin {
                    0 => self.scratch[0].powi(2),
                    bin if bin == last => self.scratch[1].powi(2),
                    bin => self.scratch[2 * bin].powi(2) + self.scratch[2 * bin + 1].powi(2),
                };
                row[frame] = power.sqrt() as f32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use super::*;
    use crate::mel::{Preset, Sizes, Stage};
    use crate::spectrum::{Density, Stft};

    #[test]
    fn what_lies_a_million_times_below_the_loudest_is_that_of_the_definition() {
        let sizes = Sizes {
            transform: 1024,
            hop: 256,
            filters: 80,
        };
        let settings = Preset::Librosa.feature(8000, sizes, Stage::Mel).spectrum;
        // A loud tone, and noise where it is not; the first frames have noise alone.
        let signal: Vec<f32> = (0..4000u32)
            .map(|n| {
                let noise = (n.wrapping_mul(2_654_435_761) >> 8) as f32 / 16_777_216.0 - 0.5;
                let tone = (TAU * 0.2 * f64::from(n)).sin() as f32;
                if n < 1200 { 0.1 * noise } else { tone }
            })
            .collect();
        let mut stft = Stft::new(settings).unwrap();
        let (bins, frames) = stft.shape(signal.len());
        let mut single = vec![0.0; bins * frames];
        stft.density(&signal, Density::Magnitude, &mut single)
            .unwrap();
        let mut found = single.clone();
        let mut precise = PreciseMagnitudes::new(settings).unwrap();
        precise.replace_deep(&signal, frames, &mut found);
        let window = settings
            .window
            .values(settings.window_length, settings.symmetry);
        for (frame, replaced) in [(2, false), (9, true)] {
            let start = frame * 256 - 512;
            let magnitude = |bin: usize| {
                let (mut re, mut im) = (0.0, 0.0);
                for (n, weight) in window.iter().enumerate() {
                    let x = weight * f64::from(signal[start + n]);
                    let (sin, cos) = (TAU * (bin * n % 1024) as f64 / 1024.0).sin_cos();
                    (re, im) = (re + x * cos, im - x * sin);
                }
                f64::hypot(re, im)
            };
            for bin in 0..bins {
                let at = bin * frames + frame;
                let off = (f64::from(found[at]) / magnitude(bin) - 1.0).abs();
                if replaced {
                    assert!(off < 1e-6, "{frame} {bin}: {off}");
                } else {
                    assert_eq!(found[at], single[at]);
                }
            }
        }
    }
}
