//! A Gaussian process over features between 0 and 1: smooth where a forest has steps, and exact where it has
//! few points.
//!
//! A Matérn kernel of order 5/2 with a length for each feature; the lengths and the noise are the best of some
//! that are drawn, and of those around the last best, by the likelihood with a mild preference for lengths
//! near one.

use warpsmith_workload::random::Random;

/// Settings that are tried in a fit.
const TRIES: usize = 24;

/// Lengths of the features and the share of the noise.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    lengths: Vec<f64>,
    noise: f64,
}

/// A fitted process.
pub(super) struct Process<'a> {
    features: Vec<&'a [f64]>,
    shape: Shape,
    /// Lower triangle of the factor of the covariance.
    factor: Vec<Vec<f64>>,
    weights: Vec<f64>,
    mean: f64,
    deviation: f64,
    scale: f64,
}

impl<'a> Process<'a> {
    /// Fits features to values, from the shape of an earlier fit where there is one; `None` where nothing fits.
    pub(super) fn fit(
        features: Vec<&'a [f64]>,
        values: &[f64],
        before: Option<&Shape>,
        random: &mut Random,
    ) -> Option<Self> {
        let axes = features.first()?.len();
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / count;
        let deviation = variance.sqrt().max(1e-9);
        let scaled: Vec<f64> = values.iter().map(|v| (v - mean) / deviation).collect();
        let mut best: Option<(f64, Self)> = None;
        for attempt in 0..TRIES {
            let shape = match (attempt, before) {
                (0, _) => Shape {
                    lengths: vec![0.7; axes],
                    noise: 1e-3,
                },
                (1, Some(before)) => before.clone(),
                (_, Some(before)) if attempt % 2 == 0 => before.near(random),
                _ => Shape::drawn(axes, random),
            };
            let Some((likelihood, fitted)) =
                Self::with(features.clone(), &scaled, shape, mean, deviation)
            else {
                continue;
            };
            let better = best.as_ref().is_none_or(|(most, _)| likelihood > *most);
            if likelihood.is_finite() && better {
                best = Some((likelihood, fitted));
            }
        }
        best.map(|(_, fitted)| fitted)
    }

    fn with(
        features: Vec<&'a [f64]>,
        scaled: &[f64],
        shape: Shape,
        mean: f64,
        deviation: f64,
    ) -> Option<(f64, Self)> {
        let count = scaled.len();
        let mut factor: Vec<Vec<f64>> = Vec::with_capacity(count);
        for row in 0..count {
            let mut line: Vec<f64> = Vec::with_capacity(row + 1);
            for column in 0..=row {
                let mut value = shape.covariance(features[row], features[column]);
                if row == column {
                    value += shape.noise + 1e-9;
                }
                let other = if row == column {
                    &line
                } else {
                    &factor[column]
                };
                let known: f64 = line
                    .iter()
                    .zip(other)
                    .map(|(a, b)| a * b)
                    .take(column)
                    .sum();
                value -= known;
                line.push(match row == column {
                    true if value <= 0.0 => return None,
                    true => value.sqrt(),
                    false => value / factor[column][column],
                });
            }
            factor.push(line);
        }
        let half = forward(&factor, scaled);
        let weights = backward(&factor, &half);
        let scale = (half.iter().map(|v| v * v).sum::<f64>() / count as f64).max(1e-9);
        let determinant: f64 = (0..count).map(|at| factor[at][at].ln()).sum();
        // Lengths far from one explain few points too well.
        let doubt: f64 = shape.lengths.iter().map(|l| (l / 0.8).ln().powi(2)).sum();
        let likelihood = -0.5 * count as f64 * scale.ln() - determinant - 0.25 * doubt;
        let fitted = Self {
            features,
            shape,
            factor,
            weights,
            mean,
            deviation,
            scale,
        };
        Some((likelihood, fitted))
    }

    /// The lengths and the noise.
    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Mean and standard deviation at a feature.
    pub(super) fn predict(&self, feature: &[f64]) -> (f64, f64) {
        let near: Vec<f64> = self
            .features
            .iter()
            .map(|known| self.shape.covariance(known, feature))
            .collect();
        let mean: f64 = near.iter().zip(&self.weights).map(|(a, b)| a * b).sum();
        let half = forward(&self.factor, &near);
        let explained: f64 = half.iter().map(|v| v * v).sum();
        let variance = (self.scale * (1.0 - explained)).max(1e-12);
        (
            self.mean + self.deviation * mean,
            self.deviation * variance.sqrt(),
        )
    }
}

impl Shape {
    fn drawn(axes: usize, random: &mut Random) -> Self {
        // Evenly by ratio: lengths from 0.15 to 4, noise from 1e-4 to 0.1.
        let lengths = (0..axes).map(|_| 0.15 * (4.0f64 / 0.15).powf(random.unit()));
        Self {
            lengths: lengths.collect(),
            noise: 1e-4 * 1e3f64.powf(random.unit()),
        }
    }

    fn near(&self, random: &mut Random) -> Self {
        let lengths = self.lengths.iter();
        Self {
            lengths: lengths
                .map(|l| l * (0.35 * random.normal()).exp())
                .collect(),
            noise: (self.noise * (0.3 * random.normal()).exp()).clamp(1e-5, 0.3),
        }
    }

    fn covariance(&self, a: &[f64], b: &[f64]) -> f64 {
        let parts = a.iter().zip(b).zip(&self.lengths);
        let square: f64 = parts.map(|((a, b), l)| ((a - b) / l).powi(2)).sum();
        let distance = (5.0 * square).sqrt();
        (1.0 + distance + distance * distance / 3.0) * (-distance).exp()
    }
}

/// Solves with the lower triangle.
fn forward(factor: &[Vec<f64>], values: &[f64]) -> Vec<f64> {
    let mut solved: Vec<f64> = Vec::with_capacity(values.len());
    for (line, value) in factor.iter().zip(values) {
        let known: f64 = line.iter().zip(&solved).map(|(a, b)| a * b).sum();
        solved.push((value - known) / line[line.len() - 1]);
    }
    solved
}

/// Solves with its transpose.
fn backward(factor: &[Vec<f64>], values: &[f64]) -> Vec<f64> {
    let mut solved = values.to_vec();
    for row in (0..solved.len()).rev() {
        solved[row] /= factor[row][row];
        let value = solved[row];
        for (column, part) in factor[row][..row].iter().enumerate() {
            solved[column] -= part * value;
        }
    }
    solved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_smooth_valley_is_learnt_from_few_points() {
        let valley = |x: f64, y: f64| (x - 0.3).powi(2) + 0.5 * (y - 0.7).powi(2);
        let mut random = Random::seeded(3);
        let points: Vec<[f64; 2]> = (0..20).map(|_| [random.unit(), random.unit()]).collect();
        let features: Vec<&[f64]> = points.iter().map(|point| &point[..]).collect();
        let values: Vec<f64> = points.iter().map(|[x, y]| valley(*x, *y)).collect();
        let process = Process::fit(features, &values, None, &mut random).unwrap();
        for (x, y) in [(0.3, 0.7), (0.5, 0.5), (0.2, 0.4)] {
            let (mean, deviation) = process.predict(&[x, y]);
            let error = (mean - valley(x, y)).abs();
            assert!(
                error < 0.03,
                "{x} {y}: {mean} ± {deviation}, {}",
                valley(x, y)
            );
        }
        // It is sure where it has been.
        let (mean, deviation) = process.predict(&points[0]);
        assert!((mean - values[0]).abs() < 0.02 && deviation < 0.05);
    }
}
