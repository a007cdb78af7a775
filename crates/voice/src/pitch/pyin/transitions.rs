//! Scores of paths as whole numbers, and what a step costs.
//!
//! A score is a logarithm in units of 2⁻¹⁶. Sums of whole numbers are the same in any order: a path found in
//! pieces, from either end or on another device is the same path, ties included. The unit is a hundredth of
//! what single precision leaves of a probability's logarithm after the transform and the correlation.

/// Units to 1.
const UNITS: f64 = 65_536.0;

/// What an impossible step costs: `ln` of the smallest normal number, which librosa adds to every
/// probability.
pub(crate) const IMPOSSIBLE: i32 = -46_425_468;

/// A probability's logarithm as a score.
pub(crate) fn score_of(probability: f64) -> i32 {
    ((probability + f64::MIN_POSITIVE).ln() * UNITS).round_ties_even() as i32
}

/// Scores of steps.
pub(crate) struct Transitions {
    /// Of the triangle, lowest offset first.
    pub(crate) kernel: Vec<i32>,
    /// Minus that of the triangle's sum over the bins that a row reaches.
    pub(crate) normaliser: Vec<i32>,
    /// Of keeping the voicing and of changing it.
    pub(crate) stay: i32,
    pub(crate) switch: i32,
}

impl Transitions {
    /// Over `bins` bins, by at most `reach` of them in a step.
    pub(crate) fn new(bins: usize, reach: usize, switch_probability: f64) -> Self {
        let width = 2 * reach + 1;
        let triangle = |offset: usize| 1.0 - offset.abs_diff(reach) as f64 / (reach + 1) as f64;
        let normaliser = (0..bins)
            .map(|k| {
                let low = reach.saturating_sub(k);
                let high = width.min(reach + bins - k);
                let sum: f64 = (low..high).map(triangle).sum();
                score_of(1.0 / sum)
            })
            .collect();
        Self {
            kernel: (0..width)
                .map(|offset| score_of(triangle(offset)))
                .collect(),
            normaliser,
            stay: score_of(1.0 - switch_probability),
            switch: score_of(switch_probability),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_a_logarithm_and_nothing_is_below_the_impossible() {
        assert_eq!(score_of(1.0), 0);
        assert_eq!(score_of(0.5), -45_426);
        assert_eq!(score_of(0.0), IMPOSSIBLE);
    }
}
