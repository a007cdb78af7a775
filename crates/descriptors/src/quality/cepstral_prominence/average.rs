//! Means over a stretch of a function that is known at whole places and straight between them.

/// What a mean takes of the values from `first` on.
pub(super) struct Average {
    pub(super) first: usize,
    pub(super) weights: Vec<f64>,
}

impl Average {
    /// The mean within `reach` of `centre`, and within `room`, of `count` values; beyond the first and the last
    /// of them the function is what it is there. A reach of less than half a place changes nothing.
    pub(super) fn over(centre: f64, reach: f64, room: (f64, f64), count: usize) -> Self {
        if reach < 0.5 {
            return Self {
                first: centre as usize,
                weights: vec![1.0],
            };
        }
        let (low, high) = ((centre - reach).max(room.0), (centre + reach).min(room.1));
        let last = count as f64 - 1.0;
        let index = |place: f64| place.clamp(0.0, last) as usize;
        let first = index(low.floor());
        let mut weights = vec![0.0; index(high.ceil()) - first + 1];
        let mut left = low.floor();
        while left < high {
            // Of a straight piece the mean of its ends, each by how near it is.
            let (from, to) = (low.max(left) - left, high.min(left + 1.0) - left);
            let right_share = 0.5 * (to * to - from * from);
            weights[index(left) - first] += (to - from - right_share) / (high - low);
            weights[index(left + 1.0) - first] += right_share / (high - low);
            left += 1.0;
        }
        Self { first, weights }
    }

    /// One past the last value that counts.
    pub(super) fn end(&self) -> usize {
        self.first + self.weights.len()
    }

    /// The mean of `values`.
    pub(super) fn of(&self, values: &[f64]) -> f64 {
        let values = &values[self.first..self.end()];
        self.weights.iter().zip(values).map(|(w, x)| w * x).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_is_that_of_the_straight_pieces() {
        let squares: Vec<f64> = (0..20).map(|n| f64::from(n * n)).collect();
        // Whole ends: halves at both of them.
        let whole = Average::over(10.0, 5.0, (0.0, 19.0), 20);
        assert_eq!((whole.first, whole.weights.len()), (5, 11));
        assert!((whole.weights[0] - 0.05).abs() < 1e-12 && (whole.weights[5] - 0.1).abs() < 1e-12);
        // Between places: 0.025, 0.175, 0.2, 0.2, 0.2, 0.175, 0.025.
        let between = Average::over(10.0, 2.5, (0.0, 19.0), 20);
        assert_eq!((between.first, between.weights.len()), (7, 7));
        assert!((between.weights[0] - 0.025).abs() < 1e-12);
        assert!((between.weights[1] - 0.175).abs() < 1e-12);
        for centre in [0.0, 1.0, 10.0, 19.0] {
            for room in [(0.0, 19.0), (-0.5, 19.5)] {
                let average = Average::over(centre, 2.5, room, 20);
                assert!((average.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                assert!(average.of(&squares) >= 0.0);
            }
        }
        assert_eq!(Average::over(3.0, 0.25, (0.0, 19.0), 20).of(&squares), 9.0);
    }
}
