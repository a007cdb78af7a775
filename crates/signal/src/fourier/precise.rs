//! Transforms of real signals in double precision: for analyses that take logarithms of what is left far
//! below the loudest, where single precision has nothing but its own rounding.

use std::f64::consts::TAU;

use crate::interrupt::checkpoint;

/// A planned transform of a power of two.
///
/// Spectra are packed into the signal's memory: the real parts of the lowest and of the highest
/// frequency, then real and imaginary parts of those between.
pub struct PreciseTransform {
    /// e^(−2πik/N) for the first half of the circle; entry 2k turns a transform of half the length.
    roots: Vec<[f64; 2]>,
}

impl PreciseTransform {
    /// For signals of `length` samples.
    ///
    /// # Panics
    /// Where the length is not a power of two, or below 4.
    pub fn new(length: usize) -> Self {
        assert!(
            length.is_power_of_two() && length >= 4,
            "a power of two from 4 on, not {length}"
        );
        let roots = (0..length / 2)
            .map(|k| {
                let (sin, cos) = (-TAU * k as f64 / length as f64).sin_cos();
                [cos, sin]
            })
            .collect();
        Self { roots }
    }

    /// Samples of a signal.
    pub fn length(&self) -> usize {
        2 * self.roots.len()
    }

    /// The packed spectrum of `samples`, in their place.
    pub fn forward(&self, samples: &mut [f64]) {
        let points = self.points(samples);
        self.transform(points, false);
        // Even samples are real parts, odd ones imaginary: their spectra come apart by symmetry.
        let half = points.len();
        let [re, im] = points[0];
        points[0] = [re + im, re - im];
        for k in 1..=half / 2 {
            let (a, b) = (points[k], points[half - k]);
            let even = [0.5 * (a[0] + b[0]), 0.5 * (a[1] - b[1])];
            let odd = [0.5 * (a[1] + b[1]), 0.5 * (b[0] - a[0])];
            let turned = times(odd, self.roots[k]);
            points[k] = [even[0] + turned[0], even[1] + turned[1]];
            points[half - k] = [even[0] - turned[0], turned[1] - even[1]];
        }
    }

    /// The samples of a packed spectrum, in its place.
    pub fn inverse(&self, spectrum: &mut [f64]) {
        let points = self.points(spectrum);
        let half = points.len();
        let [low, high] = points[0];
        points[0] = [0.5 * (low + high), 0.5 * (low - high)];
        for k in 1..=half / 2 {
            let (a, b) = (points[k], points[half - k]);
            let even = [0.5 * (a[0] + b[0]), 0.5 * (a[1] - b[1])];
            let turned = [0.5 * (a[0] - b[0]), 0.5 * (a[1] + b[1])];
            let [cos, sin] = self.roots[k];
            let odd = times(turned, [cos, -sin]);
            points[k] = [even[0] - odd[1], even[1] + odd[0]];
            points[half - k] = [even[0] + odd[1], odd[0] - even[1]];
        }
        self.transform(points, true);
        let scale = 1.0 / half as f64;
        for value in points.as_flattened_mut() {
            *value *= scale;
        }
    }

    fn points<'a>(&self, values: &'a mut [f64]) -> &'a mut [[f64; 2]] {
        assert_eq!(values.len(), self.length(), "samples of the transform");
        values.as_chunks_mut().0
    }

    /// The complex transform of half the length, not scaled.
    fn transform(&self, points: &mut [[f64; 2]], backwards: bool) {
        checkpoint();
        let count = points.len();
        let shift = usize::BITS - count.trailing_zeros();
        for n in 0..count {
            let twin = n.reverse_bits().checked_shr(shift).unwrap_or(0);
            if n < twin {
                points.swap(n, twin);
            }
        }
        let mut span = 1;
        while span < count {
            let stride = self.roots.len() / span;
            for block in points.chunks_exact_mut(2 * span) {
                let (low, high) = block.split_at_mut(span);
                for (k, (a, b)) in low.iter_mut().zip(high).enumerate() {
                    let [cos, sin] = self.roots[k * stride];
                    let turned = times(*b, [cos, if backwards { -sin } else { sin }]);
                    (*a, *b) = (
                        [a[0] + turned[0], a[1] + turned[1]],
                        [a[0] - turned[0], a[1] - turned[1]],
                    );
                }
            }
            span *= 2;
        }
    }
}

fn times(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spectra_are_the_sums_that_define_them_and_lead_back() {
        for length in [4usize, 8, 64] {
            let samples: Vec<f64> = (0..length)
                .map(|n| ((n * n) as f64 * 0.37).sin() + 0.1 * n as f64)
                .collect();
            let transform = PreciseTransform::new(length);
            let mut packed = samples.clone();
            transform.forward(&mut packed);
            for k in 0..=length / 2 {
                let (mut re, mut im) = (0.0, 0.0);
                for (n, x) in samples.iter().enumerate() {
                    let (sin, cos) = (TAU * (k * n % length) as f64 / length as f64).sin_cos();
                    re += x * cos;
                    im -= x * sin;
                }
                let found = match k {
                    0 => [packed[0], 0.0],
                    k if 2 * k == length => [packed[1], 0.0],
                    k => [packed[2 * k], packed[2 * k + 1]],
                };
                assert!(
                    (found[0] - re).abs() < 1e-11,
                    "{length}, {k}: {found:?}, {re}"
                );
                assert!(
                    (found[1] - im).abs() < 1e-11,
                    "{length}, {k}: {found:?}, {im}"
                );
            }
            transform.inverse(&mut packed);
            for (back, sample) in packed.iter().zip(&samples) {
                assert!((back - sample).abs() < 1e-13);
            }
        }
    }
}
