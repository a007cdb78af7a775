//! ln(B/A) from calls that followed one another: two calls a moment apart meet the same clock, the
//! same neighbours and the same caches.
//!
//! What is not the same is who came first after the scheduler took the core away: the first call
//! refills the caches. Pairs are therefore sorted by which of their two calls followed a switch and by
//! which side came first; the two orders of a kind are averaged, so that the refill cancels instead
//! of widening the spread, and kinds are weighted by their precision.
//!
//! On a core that 14 processes want, this halves the error of medians of rounds, which leave the
//! tagged samples out: a switch at the end of a call tags it although nothing disturbed it.

use super::evaluation::{Estimate, Evaluation, judge};
use crate::statistics::order::median_of;

/// One call of each side, next to each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdjacentPair {
    /// ln(B/A).
    pub log_ratio: f64,
    /// Whether A came first.
    pub a_first: bool,
    /// Whether the core was taken away just before, or during, the earlier and the later call.
    pub after_switch: [bool; 2],
}

/// Fewer pairs of one kind and order have no spread worth its name.
const FEWEST: usize = 8;
/// From twice as many on, neighbours are put together: pairs that follow one another may share
/// what disturbs them.
const GROUPS: usize = 96;

/// The centre of all pairs; `None` where no kind has enough of both orders.
pub fn estimate(pairs: &[AdjacentPair]) -> Option<Estimate> {
    let kinds = [[false, false], [false, true], [true, false], [true, true]];
    let (mut weighted, mut weights, mut freedom) = (0.0, 0.0, 0.0);
    for kind in kinds {
        let of_order = |a_first: bool| {
            let own = pairs
                .iter()
                .filter(|pair| pair.after_switch == kind && pair.a_first == a_first);
            let ratios: Vec<f64> = own.map(|pair| pair.log_ratio).collect();
            let enough = ratios.len() >= FEWEST;
            enough.then(|| Estimate::of(&grouped(&ratios))).flatten()
        };
        let Some((first, second)) = of_order(true).zip(of_order(false)) else {
            continue;
        };
        let variance = 0.25 * (first.error.powi(2) + second.error.powi(2));
        // Without any spread a kind decides alone, and so it may: every pair said the same.
        let weight = 1.0 / variance.max(1e-24);
        weighted += weight * 0.5 * (first.centre + second.centre);
        weights += weight;
        freedom += first.freedom + second.freedom;
    }
    (weights > 0.0).then(|| Estimate {
        centre: weighted / weights,
        error: weights.sqrt().recip(),
        freedom,
    })
}

/// Medians of neighbours, where there are many.
fn grouped(ratios: &[f64]) -> Vec<f64> {
    match ratios.len() / GROUPS {
        0 | 1 => ratios.to_vec(),
        size => ratios.chunks(size).map(median_of).collect(),
    }
}

/// The verdict on the pairs with an error probability of `alpha`.
pub fn evaluate(pairs: &[AdjacentPair], margin: f64, alpha: f64) -> Evaluation {
    judge(estimate(pairs), pairs.len(), margin, alpha, 0.0)
}

#[cfg(test)]
mod tests {
    use warpsmith_workload::random::Random;

    use super::*;
    use crate::comparison::evaluation::Verdict;

    /// A core that others want: in a third of the pairs the first call refills the caches, which
    /// takes 15 %; now and then a level of the neighbours changes between the two.
    fn busy(random: &mut Random, truth: f64, count: usize) -> Vec<AdjacentPair> {
        let mut pair = |_| {
            let (a_first, refills) = (random.below(2) == 0, random.below(3) == 0);
            let jump = match random.below(20) {
                0 => 0.3 * random.normal(),
                _ => 0.04 * random.normal(),
            };
            let refill = match (refills, a_first) {
                (false, _) => 0.0,
                (true, true) => -0.15,
                (true, false) => 0.15,
            };
            AdjacentPair {
                log_ratio: truth + jump + refill,
                a_first,
                after_switch: [refills, false],
            }
        };
        (0..count).map(&mut pair).collect()
    }

    #[test]
    fn the_refill_of_the_caches_cancels() {
        let mut random = Random::seeded(1);
        let (mut found, mut false_calls, mut squares) = (0, 0, 0.0);
        for _ in 0..300 {
            let same = evaluate(&busy(&mut random, 0.0, 300), 0.01, 0.01).verdict;
            false_calls += usize::from(matches!(same, Verdict::Slower | Verdict::Faster));
            let slower = busy(&mut random, 0.03, 300);
            found += usize::from(evaluate(&slower, 0.01, 0.01).verdict == Verdict::Slower);
            let estimate = estimate(&slower).unwrap();
            squares += ((estimate.centre - 0.03) / estimate.error).powi(2);
        }
        assert_eq!(false_calls, 0);
        assert!(found >= 290, "{found} of 300");
        // The stated error is the true one.
        let spread = (squares / 300.0_f64).sqrt();
        assert!((0.85..1.2).contains(&spread), "{spread}");
    }

    #[test]
    fn the_kinds_of_pairs_beat_all_pairs_in_one() {
        let mut random = Random::seeded(2);
        let pairs = busy(&mut random, 0.0, 300);
        let ratios: Vec<f64> = pairs.iter().map(|pair| pair.log_ratio).collect();
        let all = Estimate::of(&ratios).unwrap();
        assert!(estimate(&pairs).unwrap().error < 0.8 * all.error);
    }

    #[test]
    fn too_few_pairs_are_undecided() {
        let mut random = Random::seeded(3);
        let few = busy(&mut random, 0.5, 12);
        assert_eq!(evaluate(&few, 0.01, 0.01).verdict, Verdict::Undecided);
        assert_eq!(evaluate(&[], 0.01, 0.01).verdict, Verdict::Undecided);
    }

    #[test]
    fn pairs_without_spread_decide() {
        let pair = |index: usize| AdjacentPair {
            log_ratio: 0.0,
            a_first: index.is_multiple_of(2),
            after_switch: [false; 2],
        };
        let pairs: Vec<_> = (0..40).map(pair).collect();
        assert_eq!(evaluate(&pairs, 0.01, 0.01).verdict, Verdict::Same);
    }
}
