//! The verdict from log-ratios of rounds: a 20 % trimmed mean with Yuen's interval against a margin.
//!
//! Invariants: `Same` is proven by two one-sided tests, never concluded from a lack of evidence;
//! looks share one error probability; more rounds only narrow the interval.

use serde::{Deserialize, Serialize};

use crate::statistics::distributions::{normal_quantile, student_cdf, student_quantile};

/// What was concluded about B against A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// B takes longer by more than the margin.
    Slower,
    /// B takes less time by more than the margin.
    Faster,
    /// The difference is inside the margin.
    Same,
    /// Not enough data for any of the others.
    Undecided,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Slower => "SLOWER",
            Self::Faster => "FASTER",
            Self::Same => "SAME",
            Self::Undecided => "UNDECIDED",
        })
    }
}

/// What a comparison says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The conclusion.
    pub verdict: Verdict,
    /// Time of B over time of A.
    pub ratio: f64,
    /// Lower end of the interval of the ratio.
    pub low: f64,
    /// Upper end of the interval of the ratio.
    pub high: f64,
    /// Probability with which intervals made this way hold the truth.
    pub confidence: f64,
    /// Differences up to this share do not matter.
    pub margin: f64,
    /// Rounds that it rests on.
    pub rounds: usize,
    /// Probability of evidence this strong for a difference beyond the margin, were there none.
    pub p_different: f64,
    /// Probability of evidence this strong for sameness, were the difference at the margin.
    pub p_same: f64,
    /// Half a step of the timer as a share of the time: what no number of rounds would show. The interval is
    /// wider by it at both ends. 0 where times are not in steps.
    #[serde(default)]
    pub resolution: f64,
}

/// Evaluates the log-ratios ln(B/A) of rounds with an error probability of `alpha`.
///
/// Fewer than five rounds are undecided, with an unbounded interval.
pub fn evaluate(log_ratios: &[f64], margin: f64, alpha: f64) -> Evaluation {
    evaluate_resolved(log_ratios, margin, alpha, 0.0)
}

/// As [`evaluate`], where the times are known to the share `resolution` of themselves.
pub fn evaluate_resolved(
    log_ratios: &[f64],
    margin: f64,
    alpha: f64,
    resolution: f64,
) -> Evaluation {
    let estimate = Estimate::of(log_ratios);
    judge(estimate, log_ratios.len(), margin, alpha, resolution)
}

/// The verdict on an estimate of ln(B/A) that rests on `rounds` rounds.
pub(super) fn judge(
    estimate: Option<Estimate>,
    rounds: usize,
    margin: f64,
    alpha: f64,
    resolution: f64,
) -> Evaluation {
    let mut evaluation = Evaluation {
        verdict: Verdict::Undecided,
        ratio: f64::NAN,
        low: 0.0,
        high: f64::INFINITY,
        confidence: 1.0 - alpha,
        margin,
        rounds,
        p_different: 1.0,
        p_same: 1.0,
        resolution,
    };
    let Some(estimate) = estimate else {
        return evaluation;
    };
    let edge = margin.ln_1p();
    let unseen = resolution.ln_1p();
    let reach = unseen + student_quantile(1.0 - 0.5 * alpha, estimate.freedom) * estimate.error;
    // How surprising a centre this far above `threshold` is, were the truth at `threshold`.
    let tail_above = |threshold: f64| {
        let distance = estimate.centre - threshold;
        if estimate.error > 0.0 {
            student_cdf(-distance / estimate.error, estimate.freedom)
        } else if distance > 0.0 {
            0.0
        } else {
            1.0
        }
    };
    let slower = tail_above(edge + unseen);
    let faster = 1.0 - tail_above(-edge - unseen);
    evaluation.ratio = estimate.centre.exp();
    evaluation.low = (estimate.centre - reach).exp();
    evaluation.high = (estimate.centre + reach).exp();
    evaluation.p_different = (2.0 * slower.min(faster)).min(1.0);
    evaluation.p_same = (1.0 - tail_above(edge - unseen)).max(tail_above(unseen - edge));
    evaluation.verdict = if estimate.centre - reach > edge {
        Verdict::Slower
    } else if estimate.centre + reach < -edge {
        Verdict::Faster
    } else if evaluation.p_same < alpha {
        Verdict::Same
    } else {
        Verdict::Undecided
    };
    evaluation
}

/// Rounds that would decide an effect of the size seen, from the spread of the rounds so far.
pub fn rounds_needed(log_ratios: &[f64], margin: f64) -> Option<usize> {
    let estimate = Estimate::of(log_ratios)?;
    let spread = estimate.error * (log_ratios.len() as f64).sqrt();
    // To the nearer question: is it beyond the margin, or inside it?
    let distance = (estimate.centre.abs() - margin.ln_1p()).abs().max(1e-9);
    let z = normal_quantile(0.975) + normal_quantile(0.9);
    Some((2.0 + (z * spread / distance).powi(2)).ceil().min(1e9) as usize)
}

/// A centre with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The centre.
    pub centre: f64,
    /// Its standard error.
    pub error: f64,
    /// Degrees of freedom of the error.
    pub freedom: f64,
}

impl Estimate {
    /// A 20 % trimmed mean with its error from the winsorised deviation (Yuen); `None` of fewer than
    /// five values.
    pub fn of(values: &[f64]) -> Option<Self> {
        let k = values.len();
        if k < 5 || !values.iter().all(|value| value.is_finite()) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let trimmed = k / 5;
        let kept = k - 2 * trimmed;
        let centre = sorted[trimmed..k - trimmed].iter().sum::<f64>() / kept as f64;
        let (first, last) = (sorted[trimmed], sorted[k - trimmed - 1]);
        let winsorised: Vec<f64> = sorted.iter().map(|v| v.clamp(first, last)).collect();
        let mean = winsorised.iter().sum::<f64>() / k as f64;
        let squares: f64 = winsorised.iter().map(|v| (v - mean).powi(2)).sum();
        Some(Self {
            centre,
            error: (squares / (kept as f64 * (kept as f64 - 1.0))).sqrt(),
            freedom: kept as f64 - 1.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use warpsmith_workload::random::Random;

    use super::*;

    #[test]
    fn a_trimmed_mean_and_its_error_by_hand() {
        // Ten values, two trimmed at each end: the mean of 3..=8 and their winsorised spread.
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let estimate = Estimate::of(&values).unwrap();
        assert_eq!(estimate.centre, 5.5);
        assert_eq!(estimate.freedom, 5.0);
        // Winsorised: 3,3,3,4,5,6,7,8,8,8; squares about 5.5: 3·6.25·2 + 2·(2.25+0.25) = 42.5
        assert!((estimate.error - (42.5f64 / 30.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn each_verdict_has_its_case() {
        let mut random = Random::seeded(1);
        let mut rounds = |centre: f64, spread: f64| -> Vec<f64> {
            (0..24).map(|_| centre + spread * random.normal()).collect()
        };
        let verdict = |values: &[f64]| evaluate(values, 0.01, 0.05).verdict;
        assert_eq!(verdict(&rounds(0.03, 0.005)), Verdict::Slower);
        assert_eq!(verdict(&rounds(-0.03, 0.005)), Verdict::Faster);
        assert_eq!(verdict(&rounds(0.0, 0.005)), Verdict::Same);
        assert_eq!(verdict(&rounds(0.0, 0.2)), Verdict::Undecided);
        assert_eq!(verdict(&[0.5; 4]), Verdict::Undecided);
        assert_eq!(verdict(&[0.0; 24]), Verdict::Same);
        assert_eq!(verdict(&[0.02; 24]), Verdict::Slower);
    }

    #[test]
    fn what_a_timer_does_not_resolve_is_undecided() {
        let verdict = |centre: f64, resolution: f64| {
            let evaluation = evaluate_resolved(&[centre; 24], 0.01, 0.05, resolution);
            assert!((evaluation.high / evaluation.ratio / (1.0 + resolution) - 1.0).abs() < 1e-9);
            assert!((evaluation.low / evaluation.ratio * (1.0 + resolution) - 1.0).abs() < 1e-9);
            evaluation.verdict
        };
        assert_eq!(verdict(0.0, 0.005), Verdict::Same);
        assert_eq!(verdict(0.0, 0.02), Verdict::Undecided);
        assert_eq!(verdict(0.025, 0.02), Verdict::Undecided);
        assert_eq!(verdict(-0.025, 0.02), Verdict::Undecided);
        assert_eq!(verdict(0.05, 0.02), Verdict::Slower);
        assert_eq!(verdict(-0.05, 0.02), Verdict::Faster);
    }

    #[test]
    fn swapping_sides_mirrors_the_verdict() {
        let mut random = Random::seeded(2);
        for _ in 0..200 {
            let values: Vec<f64> = (0..24).map(|_| 0.02 * random.normal() + 0.01).collect();
            let mirrored: Vec<f64> = values.iter().map(|v| -v).collect();
            let (a, b) = (
                evaluate(&values, 0.01, 0.05),
                evaluate(&mirrored, 0.01, 0.05),
            );
            assert!((a.ratio * b.ratio - 1.0).abs() < 1e-12);
            assert!((a.p_different - b.p_different).abs() < 1e-9);
            assert_eq!(a.verdict == Verdict::Slower, b.verdict == Verdict::Faster);
        }
    }

    #[test]
    fn the_rounds_needed_shrink_with_the_effect() {
        let mut random = Random::seeded(3);
        let noise: Vec<f64> = (0..24).map(|_| 0.05 * random.normal()).collect();
        let small: Vec<f64> = noise.iter().map(|v| v + 0.03).collect();
        let large: Vec<f64> = noise.iter().map(|v| v + 0.3).collect();
        assert!(rounds_needed(&small, 0.01) > rounds_needed(&large, 0.01));
    }
}
