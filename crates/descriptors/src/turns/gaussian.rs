//! Sums over frames from which the Gaussian of any stretch follows.

use super::COEFFICIENTS;

/// Entries of a symmetric matrix.
const PAIRS: usize = COEFFICIENTS * (COEFFICIENTS + 1) / 2;
/// Least variance of a coefficient: digital silence has none.
const FLOOR: f64 = 1e-3;

/// Count, sums and sums of products of frames.
#[derive(Clone, Debug)]
pub(super) struct Sums {
    count: f64,
    first: [f64; COEFFICIENTS],
    second: [f64; PAIRS],
}

impl Default for Sums {
    fn default() -> Self {
        Self {
            count: 0.0,
            first: [0.0; COEFFICIENTS],
            second: [0.0; PAIRS],
        }
    }
}

impl Sums {
    pub(super) fn add(&mut self, frame: &[f32]) {
        self.count += 1.0;
        let mut pair = 0;
        for row in 0..COEFFICIENTS {
            let x = f64::from(frame[row]);
            self.first[row] += x;
            for other in &frame[..=row] {
                self.second[pair] += x * f64::from(*other);
                pair += 1;
            }
        }
    }

    pub(super) fn minus(&self, before: &Self) -> Self {
        let mut rest = self.clone();
        rest.count -= before.count;
        for (a, b) in rest.first.iter_mut().zip(&before.first) {
            *a -= b;
        }
        for (a, b) in rest.second.iter_mut().zip(&before.second) {
            *a -= b;
        }
        rest
    }

    pub(super) fn count(&self) -> f64 {
        self.count
    }

    /// Half the frames times the logarithm of the covariance's determinant: what a Gaussian leaves
    /// unexplained.
    pub(super) fn cost(&self) -> f64 {
        if self.count < 1.0 {
            return 0.0;
        }
        0.5 * self.count * self.log_determinant()
    }

    /// By Cholesky's decomposition.
    fn log_determinant(&self) -> f64 {
        let mut factor = [[0.0f64; COEFFICIENTS]; COEFFICIENTS];
        let mut sum = 0.0;
        let mut pair = 0;
        for row in 0..COEFFICIENTS {
            for column in 0..=row {
                let means = self.first[row] * self.first[column] / self.count;
                let mut value = (self.second[pair] - means) / self.count;
                pair += 1;
                let done = factor[row][..column].iter().zip(&factor[column][..column]);
                value -= done.map(|(a, b)| a * b).sum::<f64>();
                if row == column {
                    let root = value.max(FLOOR).sqrt();
                    sum += 2.0 * root.ln();
                    factor[row][row] = root;
                } else {
                    factor[row][column] = value / factor[column][column];
                }
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn independent_coefficients_have_the_product_of_their_variances() {
        let mut sums = Sums::default();
        let mut expected = 0.0;
        for n in 0..COEFFICIENTS {
            let size = 1.0 + n as f32;
            for sign in [-1.0, 1.0] {
                let mut frame = [3.0f32; COEFFICIENTS];
                frame[n] += sign * size;
                sums.add(&frame);
            }
            expected += (f64::from(size).powi(2) / COEFFICIENTS as f64).ln();
        }
        assert!((sums.log_determinant() - expected).abs() < 1e-9);
        let nothing = sums.minus(&sums);
        assert_eq!(nothing.count(), 0.0);
        assert_eq!(nothing.cost(), 0.0);
    }
}
