//! The spectrum that subharmonics are summed in: what is near a top, smoothed, on an axis of octaves, weighted as the
//! ear is selective.

use std::f64::consts::PI;

/// Lowest frequency of the axis, Hz.
const LOWEST: f64 = 25.0;
/// Bins on either side of a top that are kept.
const NEAR: usize = 3;

/// A planned change of axes.
pub(super) struct Octaves {
    /// Places of the bins on the axis.
    bins: Vec<f64>,
    /// The first bin of the two around each point, and how near the point is to it.
    between: Vec<(usize, f64)>,
    /// How much of each point is heard.
    heard: Vec<f64>,
    lowest: f64,
    step: f64,
    per_octave: f64,
}

impl Octaves {
    /// For spectra of `bins` bins up to `highest` Hz; the axis has as many points.
    pub(super) fn new(bins: usize, highest: f64) -> Self {
        let width = highest / (bins - 1) as f64;
        let mut places: Vec<f64> = (0..bins).map(|bin| (bin as f64 * width).log2()).collect();
        places[0] = 2.0 * places[1] - places[2];
        let lowest = LOWEST.log2();
        let step = (highest.log2() - lowest) / (bins - 1) as f64;
        let between = (0..bins).map(|point| {
            let place = lowest + point as f64 * step;
            let upper = places.partition_point(|bin| *bin < place);
            let lower = upper.clamp(1, bins - 1) - 1;
            let room = places[lower + 1] - places[lower];
            (lower, (places[lower + 1] - place) / room)
        });
        let per_octave = bins as f64 / (highest / LOWEST).log2();
        let middle = per_octave * (65.0f64 / 50.0).log2() - 1.0;
        let heard =
            |point: usize| 0.5 + (3.0 * (point as f64 + 1.0 - middle) / per_octave).atan() / PI;
        Self {
            between: between.collect(),
            heard: (0..bins).map(heard).collect(),
            bins: places,
            lowest,
            step,
            per_octave,
        }
    }

    /// Points to an octave.
    pub(super) fn per_octave(&self) -> f64 {
        self.per_octave
    }

    /// The frequency at a place between points, Hz.
    pub(super) fn hertz(&self, point: f64) -> f64 {
        (self.lowest + point * self.step).exp2()
    }

    /// A magnitude spectrum on the axis.
    pub(super) fn of(&self, magnitude: &[f64]) -> Vec<f64> {
        let mut smooth = magnitude.to_vec();
        keep_tops(&mut smooth);
        smooth_bins(&mut smooth);
        let bent = self.curvatures(&smooth);
        let points = self.between.iter().zip(&self.heard);
        points
            .map(|((lower, a), heard)| {
                let (lower, b) = (*lower, 1.0 - a);
                let room = (self.bins[lower + 1] - self.bins[lower]).powi(2) / 6.0;
                let straight = a * smooth[lower] + b * smooth[lower + 1];
                let curved = (a * a * a - a) * bent[lower] + (b * b * b - b) * bent[lower + 1];
                (straight + room * curved).max(0.0) * heard
            })
            .collect()
    }

    /// Second derivatives of the natural cubic spline through the bins.
    fn curvatures(&self, values: &[f64]) -> Vec<f64> {
        let (x, last) = (&self.bins, values.len() - 1);
        let (mut bent, mut rest) = (vec![0.0; values.len()], vec![0.0; values.len()]);
        for n in 1..last {
            let span = x[n + 1] - x[n - 1];
            let share = (x[n] - x[n - 1]) / span;
            let scale = 1.0 / (share * bent[n - 1] + 2.0);
            let slopes = (values[n + 1] - values[n]) / (x[n + 1] - x[n])
                - (values[n] - values[n - 1]) / (x[n] - x[n - 1]);
            bent[n] = (share - 1.0) * scale;
            rest[n] = scale * (6.0 * slopes / span - share * rest[n - 1]);
        }
        bent[last] = 0.0;
        for n in (0..last).rev() {
            bent[n] = bent[n] * bent[n + 1] + rest[n];
        }
        bent
    }
}

/// Makes zero what lies between two tops and is not near one.
fn keep_tops(values: &mut [f64]) {
    let last = values.len() - 1;
    let is_top = |n: usize| match n {
        0 => values[0] > values[1],
        n if n == last => values[n] > values[n - 1],
        n => values[n] > values[n - 1] && values[n] >= values[n + 1],
    };
    let tops: Vec<usize> = (0..=last).filter(|n| is_top(*n)).collect();
    for pair in tops.windows(2) {
        let (from, to) = (pair[0] + NEAR, pair[1] + 1 - NEAR.min(pair[1] + 1));
        if from < to {
            values[from..to].fill(0.0);
        }
    }
}

/// Each but the last with half of its neighbours.
fn smooth_bins(values: &mut [f64]) {
    let mut before = 0.0;
    for n in 0..values.len() - 1 {
        let here = values[n];
        values[n] = (before + 2.0 * here + values[n + 1]) / 4.0;
        before = here;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_top_keeps_its_frequency_and_what_is_between_tops_goes() {
        let octaves = Octaves::new(513, 8000.0);
        let mut magnitude = vec![0.01; 513];
        for (bin, value) in [(31, 0.5), (32, 1.0), (33, 0.5), (100, 0.7)] {
            magnitude[bin] = value;
        }
        let points = octaves.of(&magnitude);
        let top = (0..513)
            .max_by(|a, b| points[*a].total_cmp(&points[*b]))
            .unwrap();
        let hertz = octaves.hertz(top as f64);
        assert!((hertz / 500.0 - 1.0).abs() < 0.01, "{hertz}");
        assert!((octaves.hertz(512.0) - 8000.0).abs() < 1e-9);
        let quiet = points.iter().filter(|value| **value < 1e-3).count();
        assert!(quiet > 60, "{quiet}");
        let mut values = [1.0, 5.0, 1.0, 1.0, 1.0, 1.0, 1.0, 6.0, 1.0];
        keep_tops(&mut values);
        assert_eq!(values, [1.0, 5.0, 1.0, 1.0, 0.0, 1.0, 1.0, 6.0, 1.0]);
        smooth_bins(&mut values);
        assert_eq!(values[..3], [1.75, 3.0, 2.0]);
    }
}
