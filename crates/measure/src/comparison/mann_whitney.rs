//! Mann–Whitney: the chance that a sample of B exceeds one of A, and the p-value that readers of
//! other tools expect. It assumes independent samples, which benchmark samples are not; verdicts
//! do not rest on it.

use serde::{Deserialize, Serialize};

use crate::statistics::distributions::normal_cdf;
use crate::statistics::order::Ordered;

/// The outcome of the rank test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MannWhitney {
    /// P(B > A) + ½ P(B = A) among the samples.
    pub probability_b_greater: f64,
    /// Two-sided, by the normal approximation with ties.
    pub p_value: f64,
}

/// Compares two sets of samples by rank; `None` where a set is empty or not finite.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<MannWhitney> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let both: Vec<f64> = a.iter().chain(b).copied().collect();
    let ordered = Ordered::new(&both)?;
    let (n, m) = (a.len() as f64, b.len() as f64);
    let rank_sum: f64 = ordered.ranks()[a.len()..].iter().sum();
    let u = rank_sum - m * (m - 1.0) / 2.0;
    let ties: f64 = ordered
        .sorted()
        .chunk_by(|x, y| x == y)
        .map(|tied| (tied.len() as f64).powi(3) - tied.len() as f64)
        .sum();
    let total = n + m;
    let variance = n * m / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)));
    let distance = ((u - n * m / 2.0).abs() - 0.5).max(0.0);
    let p_value = if variance > 0.0 {
        (2.0 * normal_cdf(-distance / variance.sqrt())).min(1.0)
    } else {
        1.0
    };
    Some(MannWhitney {
        probability_b_greater: u / (n * m),
        p_value,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separated_and_equal_sets() {
        let apart = mann_whitney(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]).unwrap();
        assert_eq!(apart.probability_b_greater, 1.0);
        // scipy.stats.mannwhitneyu(method="asymptotic"): U = 0, p = 0.08085559837
        assert!(
            (apart.p_value - 0.080_855_598).abs() < 1e-8,
            "{}",
            apart.p_value
        );
        let equal = mann_whitney(&[1.0; 4], &[1.0; 5]).unwrap();
        assert_eq!((equal.probability_b_greater, equal.p_value), (0.5, 1.0));
        assert!(mann_whitney(&[], &[1.0]).is_none());
    }
}
