//! The trend of a cepstrum: the line with the median slope of all pairs of its points (Theil 1950), which a
//! peak does not draw to itself.

use super::slopes::{MedianSlopes, ranked};

/// The shape of a trend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trend {
    /// Decibels fall with the logarithm of the quefrency.
    #[default]
    Exponential,
    /// Decibels fall with the quefrency.
    Straight,
}

impl Trend {
    /// Where a quefrency, seconds, lies on the axis on which the trend is a line.
    pub(super) fn abscissa(self, quefrency: f64) -> f64 {
        match self {
            Self::Exponential => quefrency.ln(),
            Self::Straight => quefrency,
        }
    }
}

/// Slope and height of the line through points whose `x` ascend: the median of the slopes of all pairs, and of
/// the heights that the points have with it.
pub(super) fn median_line(slopes: &mut MedianSlopes, x: &[f64], y: &[f64]) -> (f64, f64) {
    if x.is_empty() {
        return (0.0, 0.0);
    }
    let slope = slopes.median(x, y);
    let heights = x.iter().zip(y).map(|(x, y)| y - slope * x);
    (slope, median(&mut heights.collect::<Vec<_>>()))
}

fn median(values: &mut [f64]) -> f64 {
    let count = values.len();
    ranked(values, (count - 1) / 2, count / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_among_outliers() {
        let x: Vec<f64> = (0..101).map(f64::from).collect();
        let mut y: Vec<f64> = x.iter().map(|x| 3.0 - 0.25 * x).collect();
        for n in [5, 17, 40, 41, 80] {
            y[n] += 100.0;
        }
        let (slope, height) = median_line(&mut MedianSlopes::default(), &x, &y);
        assert!((slope + 0.25).abs() < 1e-12 && (height - 3.0).abs() < 1e-12);
    }

    #[test]
    fn the_slope_is_the_median_of_all_pairs_of_any_number_of_points() {
        for count in [1usize, 2, 3, 4, 17, 60, 91] {
            let x: Vec<f64> = (1..=count).map(|n| (n as f64).ln()).collect();
            let y: Vec<f64> = (0..count).map(|n| ((n * n * 31 + 7) % 23) as f64).collect();
            let mut slopes = Vec::new();
            for b in 1..count {
                for a in 0..b {
                    slopes.push((y[b] - y[a]) / (x[b] - x[a]));
                }
            }
            slopes.sort_by(f64::total_cmp);
            let expected = match slopes.len() {
                0 => 0.0,
                n => 0.5 * (slopes[(n - 1) / 2] + slopes[n / 2]),
            };
            assert_eq!(
                median_line(&mut MedianSlopes::default(), &x, &y).0,
                expected,
                "{count} points"
            );
        }
    }
}
