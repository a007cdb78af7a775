//! Window functions, computed in f64 and rounded once.

use std::f64::consts::{PI, TAU};

use serde::{Deserialize, Serialize};

/// The shape of a window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Window {
    /// Raised cosine.
    Hann,
    /// Raised cosine on a pedestal of 0.08.
    Hamming,
    /// Three-term Blackman.
    Blackman,
    /// Kaldi's default: a symmetric Hann window to the power 0.85.
    Povey,
    /// All ones.
    Rectangular,
    /// Kaiser with shape β.
    Kaiser {
        /// Larger is narrower in time and cleaner in frequency.
        beta: f64,
    },
}

/// Whether the window is one period of a periodic function (spectra) or symmetric (filters).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Symmetry {
    /// The sample after the last would be the first: for overlapping frames.
    Periodic,
    /// The last sample equals the first: for filters, and Kaldi's frames.
    Symmetric,
}

impl Window {
    /// The window's `length` values.
    pub fn values(self, length: usize, symmetry: Symmetry) -> Vec<f64> {
        let span = match symmetry {
            Symmetry::Periodic => length,
            Symmetry::Symmetric => length.saturating_sub(1),
        };
        if span == 0 {
            return vec![1.0; length];
        }
        let at = |n: usize| {
            let phase = TAU * n as f64 / span as f64;
            match self {
                Self::Hann => 0.5 - 0.5 * phase.cos(),
                Self::Hamming => 0.54 - 0.46 * phase.cos(),
                Self::Blackman => 0.42 - 0.5 * phase.cos() + 0.08 * (2.0 * phase).cos(),
                Self::Povey => (0.5 - 0.5 * phase.cos()).powf(0.85),
                Self::Rectangular => 1.0,
                Self::Kaiser { beta } => {
                    let x = phase / PI - 1.0;
                    bessel_i0(beta * (1.0 - x * x).max(0.0).sqrt()) / bessel_i0(beta)
                }
            }
        };
        (0..length).map(at).collect()
    }

    /// The values of a window of `length` in the middle of `frame_length` zeros, as f32.
    pub fn centred(self, length: usize, frame_length: usize, symmetry: Symmetry) -> Vec<f32> {
        let left = frame_length.saturating_sub(length) / 2;
        let mut centred = vec![0.0; frame_length];
        for (slot, value) in centred[left..]
            .iter_mut()
            .zip(self.values(length, symmetry))
        {
            *slot = value as f32;
        }
        centred
    }
}

/// The modified Bessel function of the first kind, order zero, by its power series: every term is
/// positive, so the sum is good to the last digits.
fn bessel_i0(x: f64) -> f64 {
    let quarter = x * x / 4.0;
    let (mut sum, mut term, mut k) = (1.0, 1.0, 1.0);
    while term > sum * 1e-17 {
        term *= quarter / (k * k);
        sum += term;
        k += 1.0;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_periodic_hann_window_overlaps_to_a_constant() {
        let window = Window::Hann.values(512, Symmetry::Periodic);
        for n in 0..256 {
            assert!((window[n] + window[n + 256] - 1.0).abs() < 1e-15);
        }
    }

    #[test]
    fn a_symmetric_window_reads_the_same_backwards() {
        for window in [
            Window::Hann,
            Window::Povey,
            Window::Kaiser { beta: 8.6 },
            Window::Blackman,
        ] {
            let values = window.values(401, Symmetry::Symmetric);
            for n in 0..401 {
                assert!((values[n] - values[400 - n]).abs() < 1e-14, "{window:?}");
            }
            assert!((values[200] - 1.0).abs() < 1e-15);
        }
    }

    #[test]
    fn bessel_i0_agrees_with_its_table() {
        // Abramowitz and Stegun, table 9.8: I0(1) = 1.266066, I0(5) = 27.239872.
        assert!((bessel_i0(1.0) - 1.266_065_877_752).abs() < 1e-11);
        assert!((bessel_i0(5.0) - 27.239_871_823_604).abs() < 1e-9);
    }

    #[test]
    fn windows_of_no_and_one_sample_exist() {
        assert!(Window::Hann.values(0, Symmetry::Symmetric).is_empty());
        assert_eq!(Window::Hann.values(1, Symmetry::Symmetric), [1.0]);
    }
}
