//! Two detectors over ln(median) of the commits. What they find is a suspect, to be measured again
//! before anybody is told.
//!
//! *Fast* asks of the last four results whether they lie on a slower level than up to fifty before:
//! a likelihood ratio in which every result may be an outlier, so that two slow results among four
//! do not pass for a level, and one among four does not hide one. *Full* clips each result to its
//! neighbourhood and splits the series where two levels differ most; a level needs six results.

use serde::{Deserialize, Serialize};

use warpsmith_measure::statistics::distributions::{normal_cdf, student_cdf};
use warpsmith_measure::statistics::order::{MAD_TO_SIGMA, mad_about, median_of};

/// A place where the times may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Suspect {
    /// Index of the first result on the new level.
    pub index: usize,
    /// Relative change of the level: 0.03 is 3 % slower.
    pub change: f64,
    /// Probability of a difference this clear where there is none.
    pub p_value: f64,
}

/// Smaller changes are not looked for.
const MAGNITUDE: f64 = 0.01;
/// Signal over noise that the fast detector asks for: below one false suspect in a thousand
/// commits. The `history_rates` bench prints what other values would do.
pub const FAST_THRESHOLD: f64 = 2.75;
/// Spreads above the level from which on a result is worth measuring again: one in ten is, and
/// then two more measurements halve the steps that four commits leave undecided, and their median
/// lets an outlier count for nothing.
const AGAIN: f64 = 1.5;
/// The full one's level of significance; it looks at every place of a window.
const FULL_SIGNIFICANCE: f64 = 1e-5;
/// Results that the fast detector waits for.
const NEWEST: usize = 4;
/// Results that make a level.
const LEVEL: usize = 6;
/// Results before that the newest are compared with.
const REFERENCE: usize = 50;
/// Share of results that are outliers, and how far they reach in spreads.
const OUTLIERS: f64 = 0.05;
const OUTLIER_REACH: f64 = 20.0;

/// Suspects in a series of medians, oldest first, each change once.
pub fn suspects(medians: &[f64]) -> Vec<Suspect> {
    suspects_above(medians, FAST_THRESHOLD)
}

/// [`suspects`] with another threshold of the fast detector: for simulations that choose it.
pub fn suspects_above(medians: &[f64], fast_threshold: f64) -> Vec<Suspect> {
    let logs: Vec<f64> = medians.iter().map(|median| median.ln()).collect();
    if !logs.iter().all(|log| log.is_finite()) {
        return Vec::new();
    }
    let mut found = full(&logs);
    let changes: Vec<usize> = found.iter().map(|suspect| suspect.index).collect();
    found.extend(fast(&logs, &changes, fast_threshold));
    let clipped = clip(&logs);
    for suspect in &mut found {
        suspect.index = place_of(&clipped, suspect.index);
    }
    found.sort_by_key(|suspect| suspect.index);
    // Two finds within the reach of the fast detector are one change; the clearer find tells it.
    found.dedup_by(|later, earlier| {
        let same = later.index - earlier.index <= NEWEST;
        if same && later.p_value < earlier.p_value {
            *earlier = *later;
        }
        same
    });
    found
}

/// The commit near `about` at which two levels leave least unexplained. The detectors want several
/// results on either side and put a change that is younger than that too early; whoever measures
/// a suspect against the commit before it needs the very one.
fn place_of(logs: &[f64], about: usize) -> usize {
    /// Commits around the place that tell the two levels.
    const AROUND: usize = 25;
    let start = about.saturating_sub(AROUND);
    let end = (about + AROUND).min(logs.len());
    let left = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>()
    };
    (about.saturating_sub(LEVEL).max(start + 2)..=(about + LEVEL).min(end.saturating_sub(2)))
        .map(|place| (place, left(&logs[start..place]) + left(&logs[place..end])))
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map_or(about, |(place, _)| place)
}

/// The newest results against the level before them: slower or not. `changes` are those that are
/// known: what lies before one tells the spread, but not the level that newer results are on.
fn fast(logs: &[f64], changes: &[usize], threshold: f64) -> Option<Suspect> {
    let split = logs.len().checked_sub(NEWEST)?;
    let reference = &logs[split.saturating_sub(REFERENCE)..split];
    // A spread from fewer is a guess.
    if reference.len() < 10 {
        return None;
    }
    let last_change = changes.last().copied().unwrap_or(0);
    let level = match split.checked_sub(last_change) {
        Some(since) if since >= reference.len() => Level::of(reference)?,
        Some(since) if since >= 2 => {
            let current = &logs[last_change..split];
            let middle = current.iter().sum::<f64>() / since as f64;
            let before = Level::of(&reference[..reference.len() - since])?;
            Level {
                middle,
                count: since,
                ..before
            }
        }
        // The newest results are the level that the change led to.
        _ => return None,
    };
    let newest: Vec<f64> = logs[split..]
        .iter()
        .map(|log| (log - level.middle) / level.spread)
        .collect();
    let likelihood = |shift: f64| -> f64 {
        newest
            .iter()
            .map(|z| log_density(z - shift) - log_density(*z))
            .sum()
    };
    let (shift, gain) = (2..=48)
        .map(|quarter| 0.25 * f64::from(quarter))
        .map(|shift| (shift, likelihood(shift)))
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    let count = level.count as f64;
    // The level itself is known to 1/√count only, and its spread to a share that few results
    // make large; the second factor was found by simulation.
    let known = (1.0 / (1.0 + NEWEST as f64 / count)).sqrt() / (1.0 + 6.0 / count);
    let signal = (2.0 * gain.max(0.0)).sqrt() * known;
    let change = shift * level.spread;
    (signal > threshold && change > MAGNITUDE).then(|| Suspect {
        index: split,
        change: change.exp_m1(),
        p_value: normal_cdf(-signal),
    })
}

/// Whether the newest result lies so far above the level of those before it that it is worth
/// measuring again: it is an outlier, or the first of a slower level.
pub fn stands_out(medians: &[f64]) -> bool {
    let logs: Vec<f64> = medians.iter().map(|median| median.ln()).collect();
    let Some((newest, before)) = logs.split_last() else {
        return false;
    };
    let reference = &before[before.len().saturating_sub(REFERENCE)..];
    if reference.len() < 10 || !logs.iter().all(|log| log.is_finite()) {
        return false;
    }
    Level::of(reference).is_some_and(|level| newest - level.middle > AGAIN * level.spread)
}

/// ln of the density of a result, in spreads from its level: normal, or far away.
fn log_density(z: f64) -> f64 {
    let normal = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let far = (-z.abs() / OUTLIER_REACH).exp() / (2.0 * OUTLIER_REACH);
    ((1.0 - OUTLIERS) * normal + OUTLIERS * far).ln()
}

/// Where results lie when nothing happens, outliers apart.
struct Level {
    middle: f64,
    spread: f64,
    count: usize,
}

impl Level {
    /// Mean and standard deviation of what is within three spreads, begun at median and MAD.
    fn of(values: &[f64]) -> Option<Self> {
        let mut middle = median_of(values);
        let mut spread = MAD_TO_SIGMA * mad_about(values, middle);
        let mut count = values.len();
        for _ in 0..2 {
            let kept: Vec<f64> = values
                .iter()
                .copied()
                .filter(|value| (value - middle).abs() <= 3.0 * spread)
                .collect();
            if kept.len() < 2 {
                return None;
            }
            count = kept.len();
            middle = kept.iter().sum::<f64>() / count as f64;
            let squares: f64 = kept.iter().map(|value| (value - middle).powi(2)).sum();
            // A normal distribution without what lies beyond three spreads is 1.5 % narrower.
            spread = 1.015 * (squares / (count as f64 - 1.0)).sqrt();
        }
        // Results that are all equal would make every difference infinite.
        (spread > 1e-12).then_some(Self {
            middle,
            spread,
            count,
        })
    }
}

/// All changes of level.
fn full(logs: &[f64]) -> Vec<Suspect> {
    let clipped = clip(logs);
    let mut places = Vec::new();
    split(&clipped, 0, &mut places);
    places.sort_unstable();
    // Neighbouring splits were found against longer levels: hold each against its own two.
    loop {
        let mut weakest: Option<(usize, f64)> = None;
        for (order, place) in places.iter().enumerate() {
            let start = if order == 0 { 0 } else { places[order - 1] };
            let end = places.get(order + 1).copied().unwrap_or(clipped.len());
            let (change, p_value) = difference(&clipped[start..*place], &clipped[*place..end]);
            let fails = p_value > FULL_SIGNIFICANCE || change.abs() < MAGNITUDE;
            if fails && weakest.is_none_or(|(_, p)| p_value > p) {
                weakest = Some((order, p_value));
            }
        }
        match weakest {
            Some((order, _)) => places.remove(order),
            None => break,
        };
    }
    places
        .iter()
        .enumerate()
        .map(|(order, place)| {
            let start = if order == 0 { 0 } else { places[order - 1] };
            let end = places.get(order + 1).copied().unwrap_or(clipped.len());
            let (change, p_value) = difference(&clipped[start..*place], &clipped[*place..end]);
            Suspect {
                index: *place,
                change: change.exp_m1(),
                p_value,
            }
        })
        .collect()
}

/// Each result moved to within three spreads of the nine around it.
fn clip(logs: &[f64]) -> Vec<f64> {
    let steps: Vec<f64> = logs.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // From differences, so that a change of level does not widen it; √2 for their own doubling.
    let spread = MAD_TO_SIGMA * mad_about(&steps, 0.0) / std::f64::consts::SQRT_2;
    (0..logs.len())
        .map(|index| {
            let start = index.saturating_sub(4);
            let around = &logs[start..(index + 5).min(logs.len())];
            let middle = median_of(around);
            // Where half of the neighbourhood lies on the next level, its spread says so.
            let local = MAD_TO_SIGMA * mad_about(around, middle);
            let reach = 3.0 * spread.max(local);
            logs[index].clamp(middle - reach, middle + reach)
        })
        .collect()
}

/// Splits where two levels differ most, and each part again.
fn split(values: &[f64], offset: usize, places: &mut Vec<usize>) {
    /// Longer windows let one old level drown a new one.
    const WINDOW: usize = 100;
    if values.len() > WINDOW {
        // Overlapping windows, so that a change near an edge is in the middle of the next.
        for start in (0..values.len()).step_by(WINDOW / 2) {
            let end = (start + WINDOW).min(values.len());
            split_window(&values[start..end], offset + start, places);
            if end == values.len() {
                break;
            }
        }
        places.sort_unstable();
        places.dedup_by(|later, earlier| *later - *earlier < LEVEL);
    } else {
        split_window(values, offset, places);
    }
}

fn split_window(values: &[f64], offset: usize, places: &mut Vec<usize>) {
    let mut best = (1.0, 0);
    for place in LEVEL..(values.len() + 1).saturating_sub(LEVEL) {
        let (change, p_value) = difference(&values[..place], &values[place..]);
        if p_value < best.0 && change.abs() >= MAGNITUDE / 2.0 {
            best = (p_value, place);
        }
    }
    // Ten times weaker than the final word: what survives alone is decided after all are known.
    if best.0 < 10.0 * FULL_SIGNIFICANCE {
        let (left, right) = values.split_at(best.1);
        split_window(left, offset, places);
        places.push(offset + best.1);
        split_window(right, offset + best.1, places);
    }
}

/// Difference of two means with a Student p-value; 1 where there is too little.
fn difference(before: &[f64], after: &[f64]) -> (f64, f64) {
    let (n, m) = (before.len() as f64, after.len() as f64);
    if before.len() < LEVEL || after.len() < LEVEL {
        return (0.0, 1.0);
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let squares =
        |values: &[f64], mean: f64| values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
    let (mean_before, mean_after) = (mean(before), mean(after));
    let freedom = n + m - 2.0;
    let pooled = (squares(before, mean_before) + squares(after, mean_after)) / freedom;
    let error = (pooled * (1.0 / n + 1.0 / m)).sqrt().max(1e-12);
    let change = mean_after - mean_before;
    (change, 2.0 * student_cdf(-(change / error).abs(), freedom))
}

#[cfg(test)]
mod tests {
    use warpsmith_workload::random::Random;

    use super::*;

    #[test]
    fn a_step_is_found_where_it_is() {
        let mut random = Random::seeded(1);
        let medians: Vec<f64> = (0..80)
            .map(|i| (if i < 50 { 1.0 } else { 1.05 }) * (1.0 + 0.01 * random.normal()))
            .collect();
        let found = suspects(&medians);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].index.abs_diff(50) <= 1 && (found[0].change - 0.05).abs() < 0.01);
    }

    #[test]
    fn a_young_step_is_found_at_its_own_commit() {
        let mut random = Random::seeded(4);
        for young in 4..9 {
            let medians: Vec<f64> = (0..30 + young)
                .map(|i| (if i < 30 { 1.0 } else { 1.1 }) * (1.0 + 0.01 * random.normal()))
                .collect();
            let places: Vec<usize> = suspects(&medians).iter().map(|s| s.index).collect();
            assert_eq!(places, [30], "{young} results after the step");
        }
    }

    #[test]
    fn a_change_has_one_suspect_while_the_history_grows() {
        let mut seconds = 0;
        for seed in 0..60 {
            let mut random = Random::seeded(100 + seed);
            let medians: Vec<f64> = (0..60)
                .map(|i| {
                    let outlier = if random.unit() < 0.05 {
                        1.0 + 0.2 * random.unit()
                    } else {
                        1.0
                    };
                    let level = if i < 25 { 1.0 } else { 1.06 };
                    level * outlier * (1.0 + 0.01 * random.normal())
                })
                .collect();
            for newest in 31..=60 {
                let found = suspects(&medians[..newest]);
                let slower = found.iter().filter(|s| s.change > 0.0).count();
                seconds += usize::from(slower > 1);
            }
        }
        // 1800 looks.
        assert!(seconds <= 9, "{seconds} looks with a second suspect");
    }

    #[test]
    fn a_second_step_soon_after_the_first_is_seen() {
        let mut random = Random::seeded(7);
        let medians: Vec<f64> = (0..48)
            .map(|i| {
                let level = match i {
                    0..30 => 1.0,
                    30..44 => 1.06,
                    _ => 1.14,
                };
                level * (1.0 + 0.008 * random.normal())
            })
            .collect();
        let places: Vec<usize> = suspects(&medians).iter().map(|s| s.index).collect();
        assert_eq!(places, [30, 44]);
    }

    #[test]
    fn a_slow_result_stands_out_once_there_is_a_level() {
        let mut random = Random::seeded(2);
        let mut medians: Vec<f64> = (0..20).map(|_| 1.0 + 0.01 * random.normal()).collect();
        medians.push(1.005);
        assert!(!stands_out(&medians));
        medians.push(1.2);
        assert!(stands_out(&medians));
        assert!(suspects(&medians).is_empty(), "one result is no level");
        assert!(!stands_out(&[1.0, 1.0, 9.0]) && !stands_out(&[]));
    }

    #[test]
    fn two_outliers_among_four_are_no_level() {
        let mut random = Random::seeded(3);
        let mut medians: Vec<f64> = (0..40).map(|_| 1.0 + 0.01 * random.normal()).collect();
        medians.extend([1.15, 1.002, 1.2, 0.998]);
        assert!(suspects(&medians).is_empty());
        let mut medians: Vec<f64> = (0..40).map(|_| 1.0 + 0.01 * random.normal()).collect();
        medians.extend([1.034, 1.2, 1.03, 1.028]);
        assert_eq!(
            suspects(&medians).len(),
            1,
            "one outlier does not hide a level"
        );
    }

    #[test]
    fn short_and_broken_histories_have_no_suspects() {
        assert!(suspects(&[]).is_empty());
        assert!(suspects(&[1.0, 2.0, 1.0]).is_empty());
        assert!(suspects(&[1.0, 0.0, 1.0, f64::NAN]).is_empty());
        assert!(suspects(&[1.0; 40]).is_empty());
    }
}
