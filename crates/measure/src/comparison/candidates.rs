//! Several candidates against one base: Holm's step-down keeps the chance of any false verdict at
//! what one comparison would have.

use super::evaluation::{Evaluation, Verdict};

/// Holm-adjusted p-values, in the order given.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut largest = 0.0f64;
    for (done, index) in order.into_iter().enumerate() {
        let factor = (p_values.len() - done) as f64;
        largest = largest.max(factor * p_values[index]).min(1.0);
        adjusted[index] = largest;
    }
    adjusted
}

/// Withdraws verdicts that do not survive the correction for their number.
pub fn correct_for_several(evaluations: &mut [Evaluation]) {
    let different = holm(
        &evaluations
            .iter()
            .map(|e| e.p_different)
            .collect::<Vec<_>>(),
    );
    let same = holm(&evaluations.iter().map(|e| e.p_same).collect::<Vec<_>>());
    for (evaluation, (different, same)) in evaluations.iter_mut().zip(different.iter().zip(&same)) {
        let alpha = 1.0 - evaluation.confidence;
        let survives = match evaluation.verdict {
            Verdict::Slower | Verdict::Faster => *different < alpha,
            Verdict::Same => *same < alpha,
            Verdict::Undecided => true,
        };
        if !survives {
            evaluation.verdict = Verdict::Undecided;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::evaluation::evaluate;
    use super::*;

    #[test]
    fn holm_multiplies_the_smallest_by_all_and_never_falls() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        let expected = [0.03, 0.06, 0.06, 0.02];
        for (a, e) in adjusted.iter().zip(expected) {
            assert!((a - e).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    }

    #[test]
    fn a_narrow_verdict_does_not_survive_company() {
        // Spread chosen so that one comparison just decides.
        let borderline: Vec<f64> = (0..24)
            .map(|i| 0.0172 + 0.02 * (f64::from(i) / 23.0 - 0.5) * 2.0)
            .collect();
        let alone = evaluate(&borderline, 0.01, 0.05);
        assert_eq!(alone.verdict, Verdict::Slower, "{alone:?}");
        let unclear = evaluate(
            &borderline.iter().map(|v| v - 0.008).collect::<Vec<_>>(),
            0.01,
            0.05,
        );
        let mut several = [alone, unclear, unclear, unclear, unclear, unclear];
        correct_for_several(&mut several);
        assert_eq!(several[0].verdict, Verdict::Undecided);
    }
}
