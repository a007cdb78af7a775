//! The trend of a cepstrum: the line with the median slope of all pairs of its points (Theil 1950), which a
//! peak does not draw to itself.

use warpsmith_lanes::{Task, with_widest};

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
pub(super) fn median_line(x: &[f64], y: &[f64]) -> (f64, f64) {
    let pairs = x.len() * x.len().saturating_sub(1) / 2;
    if pairs == 0 {
        return (0.0, y.first().copied().unwrap_or(0.0));
    }
    let slope = median_slope(x, y, pairs);
    let heights = x.iter().zip(y).map(|(x, y)| y - slope * x);
    (slope, median(&mut heights.collect::<Vec<_>>()))
}

fn median(values: &mut [f64]) -> f64 {
    let count = values.len();
    ranked(values, (count - 1) / 2, count / 2)
}

/// The mean of two neighbouring ranks, which may be the same.
fn ranked(values: &mut [f64], low: usize, high: usize) -> f64 {
    let (before, upper, _) = values.select_nth_unstable_by(high, f64::total_cmp);
    let upper = *upper;
    if low == high {
        return upper;
    }
    let lower = before.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    0.5 * (lower + upper)
}

/// The median of the slopes of all pairs: a sample says between which two slopes it lies, one pass counts the
/// slopes below and keeps those between.
fn median_slope(x: &[f64], y: &[f64], pairs: usize) -> f64 {
    let (low, high) = bracket(x, y);
    let (mut below, mut kept) = (0, Vec::new());
    with_widest(Slopes {
        x,
        y,
        low,
        high,
        below: &mut below,
        kept: &mut kept,
    });
    let (first, second) = ((pairs - 1) / 2, pairs / 2);
    if first < below || second >= below + kept.len() {
        // The sample misled: all of them.
        (below, kept) = (0, Vec::new());
        with_widest(Slopes {
            x,
            y,
            low: f64::NEG_INFINITY,
            high: f64::INFINITY,
            below: &mut below,
            kept: &mut kept,
        });
    }
    ranked(&mut kept, first - below, second - below)
}

/// Two slopes with the median between them, most likely.
fn bracket(x: &[f64], y: &[f64]) -> (f64, f64) {
    const SAMPLE: usize = 1001;
    /// Three standard deviations of the rank of a median of so many.
    const MARGIN: usize = 48;
    let count = x.len();
    let mut state = 1u64;
    let mut draw = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as usize) % below
    };
    let mut sample: Vec<f64> = (0..SAMPLE)
        .map(|_| {
            let a = draw(count);
            let b = (a + 1 + draw(count - 1)) % count;
            (y[b] - y[a]) / (x[b] - x[a])
        })
        .collect();
    sample.sort_unstable_by(f64::total_cmp);
    (sample[SAMPLE / 2 - MARGIN], sample[SAMPLE / 2 + MARGIN])
}

/// Counts the slopes below `low` and keeps those up to `high`.
struct Slopes<'a> {
    x: &'a [f64],
    y: &'a [f64],
    low: f64,
    high: f64,
    below: &'a mut usize,
    kept: &'a mut Vec<f64>,
}

impl Task for Slopes<'_> {
    #[inline(always)]
    fn run(self) {
        let count = self.x.len();
        let mut slopes = vec![0.0; count];
        for distance in 1..count {
            let slopes = &mut slopes[..count - distance];
            let (x, y) = (&self.x[distance..], &self.y[distance..]);
            let mut below = 0;
            for (n, slope) in slopes.iter_mut().enumerate() {
                *slope = (y[n] - self.y[n]) / (x[n] - self.x[n]);
                below += usize::from(*slope < self.low);
            }
            *self.below += below;
            let between = |slope: &&f64| **slope >= self.low && **slope <= self.high;
            self.kept.extend(slopes.iter().filter(between));
        }
    }
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
        let (slope, height) = median_line(&x, &y);
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
            assert_eq!(median_line(&x, &y).0, expected, "{count} points");
        }
    }
}
