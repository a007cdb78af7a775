//! Simulated histories of commits, and what watching each commit as it comes would raise.

pub(crate) mod projects;

use warpsmith_history::detectors::{stands_out, suspects_above};
use warpsmith_workload::random::Random;

/// What a history is made of.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    /// Share of results that are outliers, 5 to 30 % slow.
    pub(crate) outliers: f64,
    /// Whether a result that stands out is measured twice more, as `history check` asks for; the
    /// commit's figure is then the median of the three.
    pub(crate) again: bool,
}

/// The commit at which a history steps.
pub(crate) const STEP_AT: usize = 60;

/// `commits` medians with 1 % noise and a step of `step` at [`STEP_AT`].
pub(crate) fn history(seed: u64, commits: usize, step: f64, kind: Kind) -> Vec<f64> {
    let mut random = Random::seeded(seed ^ 0x0415);
    let mut medians: Vec<f64> = Vec::new();
    for commit in 0..commits {
        let level = if commit >= STEP_AT { 1.0 + step } else { 1.0 };
        let mut measure = || {
            let outlier = if random.unit() < kind.outliers {
                1.05 + 0.25 * random.unit()
            } else {
                1.0
            };
            level * outlier * (1.0 + 0.01 * random.normal())
        };
        medians.push(measure());
        if kind.again && stands_out(&medians) {
            let newest = medians.len() - 1;
            let mut three = [medians[newest], measure(), measure()];
            three.sort_unstable_by(f64::total_cmp);
            medians[newest] = three[1];
        }
    }
    medians
}

/// Changes that watching every commit as it comes would have raised: where, and when.
pub(crate) fn raised(medians: &[f64], threshold: f64) -> Vec<(usize, usize)> {
    let mut known: Vec<(usize, usize)> = Vec::new();
    for seen in 10..=medians.len() {
        for suspect in suspects_above(&medians[..seen], threshold) {
            if known
                .iter()
                .all(|(index, _)| index.abs_diff(suspect.index) > 4)
            {
                known.push((suspect.index, seen));
            }
        }
    }
    known
}

/// Whether a step was raised, about where it is.
pub(crate) fn found(medians: &[f64], threshold: f64) -> bool {
    let near = |(index, _): &(usize, usize)| index.abs_diff(STEP_AT) <= 5;
    raised(medians, threshold).iter().any(near)
}
