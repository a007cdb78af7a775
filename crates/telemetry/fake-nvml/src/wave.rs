//! A quantity over time: a constant, or points joined by lines, with optional noise.

use serde::Deserialize;

/// A quantity as a function of the seconds since the start.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Wave {
    /// Always the same.
    Constant(f64),
    /// Lines between points, level before the first and after the last, with noise that changes
    /// every 20 ms and has no mean.
    Points {
        /// `[seconds, value]` in rising order of time.
        points: Vec<[f64; 2]>,
        /// Largest deviation.
        #[serde(default)]
        noise: f64,
    },
}

impl Wave {
    /// The value without noise.
    fn level(&self, t: f64) -> f64 {
        match self {
            Self::Constant(value) => *value,
            Self::Points { points, .. } => {
                let after = points.partition_point(|[at, _]| *at <= t);
                match (after.checked_sub(1).map(|i| points[i]), points.get(after)) {
                    (Some([t0, v0]), Some([t1, v1])) => v0 + (v1 - v0) * (t - t0) / (t1 - t0),
                    (Some([_, value]), None) => value,
                    (None, Some([_, value])) => *value,
                    (None, None) => 0.0,
                }
            }
        }
    }

    /// The value at `t`.
    pub fn at(&self, t: f64) -> f64 {
        match self {
            Self::Points { noise, .. } if *noise > 0.0 => {
                self.level(t) + noise * unit_noise((t / 0.02).floor() as i64)
            }
            _ => self.level(t),
        }
    }

    /// The integral from 0 to `t`; noise has no mean and is left out.
    pub fn integral(&self, t: f64) -> f64 {
        let mut marks = vec![0.0];
        if let Self::Points { points, .. } = self {
            marks.extend(
                points
                    .iter()
                    .map(|[at, _]| *at)
                    .filter(|at| *at > 0.0 && *at < t),
            );
        }
        marks.push(t.max(0.0));
        // A step is written as two points at almost the same time, so ends of a piece are read
        // just inside of it.
        marks
            .windows(2)
            .map(|pair| {
                let inset = (pair[1] - pair[0]) * 1e-9;
                (pair[1] - pair[0]) * (self.level(pair[0] + inset) + self.level(pair[1] - inset))
                    / 2.0
            })
            .sum()
    }
}

/// A fixed pseudo-random number in -1 to 1 for each slot.
fn unit_noise(slot: i64) -> f64 {
    let mut x = (slot as u64).wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^= x >> 31;
    (x >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_join_points_and_integrals_are_their_areas() {
        let ramp: Wave = serde_json::from_str(r#"{"points": [[1, 0], [3, 10]]}"#).unwrap();
        assert_eq!([0.0, 2.0, 9.0].map(|t| ramp.at(t)), [0.0, 5.0, 10.0]);
        assert!((ramp.integral(4.0) - 20.0).abs() < 1e-6);
        assert!((Wave::Constant(7.0).integral(2.0) - 14.0).abs() < 1e-9);
    }

    #[test]
    fn noise_stays_inside_its_bound_and_has_no_mean() {
        let noise: Vec<f64> = (0..10_000).map(unit_noise).collect();
        assert!(noise.iter().all(|x| (-1.0..=1.0).contains(x)));
        assert!((noise.iter().sum::<f64>() / 1e4).abs() < 0.02);
    }
}
