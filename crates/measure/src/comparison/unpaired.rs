//! Comparison of samples that were taken apart, such as two files of another tool.
//!
//! The same verdicts from blocks of each run in the order taken. What pairing would have cancelled
//! (drift between the runs, another clock level) is inside the answer; the caller must say so.

use super::evaluation::{Evaluation, evaluate};
use crate::statistics::correlation::integrated_time;
use crate::statistics::order::{Ordered, median_of};

/// Log-ratios of blocks: as many blocks as pairing would make, each at least as long as the
/// correlation time, none empty.
pub fn block_log_ratios(a: &[f64], b: &[f64]) -> Vec<f64> {
    const BLOCKS: usize = 24;
    let correlated = |samples: &[f64]| {
        let time = Ordered::new(samples).map_or(1.0, |o| integrated_time(o.ranks()));
        (samples.len() as f64 / time).floor() as usize
    };
    // At least five blocks, or there is no verdict at all.
    let blocks = correlated(a)
        .min(correlated(b))
        .clamp(5, BLOCKS)
        .min(a.len())
        .min(b.len());
    let block = |samples: &[f64], k: usize| {
        let (start, end) = (k * samples.len() / blocks, (k + 1) * samples.len() / blocks);
        median_of(&samples[start..end])
    };
    (0..blocks)
        .map(|k| (block(b, k) / block(a, k)).ln())
        .collect()
}

/// Evaluates two runs that were taken apart.
pub fn compare(a: &[f64], b: &[f64], margin: f64, alpha: f64) -> Evaluation {
    evaluate(&block_log_ratios(a, b), margin, alpha)
}

#[cfg(test)]
mod tests {
    use warpsmith_workload::random::Random;

    use super::super::evaluation::Verdict;
    use super::*;

    #[test]
    fn ten_runs_a_side_find_a_large_difference_and_none_where_there_is_none() {
        let mut random = Random::seeded(4);
        let (mut found, mut false_verdicts) = (0, 0);
        for _ in 0..200 {
            let mut run = |level: f64| -> Vec<f64> {
                (0..10)
                    .map(|_| level * (1.0 + 0.02 * random.normal()))
                    .collect()
            };
            let (a, b, slow) = (run(1.0), run(1.0), run(1.10));
            found += usize::from(compare(&a, &slow, 0.01, 0.05).verdict == Verdict::Slower);
            let verdict = compare(&a, &b, 0.01, 0.05).verdict;
            false_verdicts += usize::from(matches!(verdict, Verdict::Slower | Verdict::Faster));
        }
        assert!(found >= 190, "{found} of 200");
        assert!(false_verdicts <= 6, "{false_verdicts} of 200");
    }

    #[test]
    fn too_few_samples_are_undecided() {
        assert_eq!(
            compare(&[1.0; 4], &[2.0; 4], 0.01, 0.05).verdict,
            Verdict::Undecided
        );
        assert_eq!(compare(&[], &[2.0], 0.01, 0.05).verdict, Verdict::Undecided);
    }
}
