//! Two detectors over ln(median) of the commits. What they find is a suspect, to be measured again
//! before anybody is told.
//!
//! *Fast* holds the mean of the last four results, clipped, against up to fifty before, one place per
//! commit, and only for slower: that leaves it the most power. *Full* clips each result to its
//! neighbourhood, so that outliers do not decide, and splits the series where two levels differ
//! most; a level needs three results.

use serde::{Deserialize, Serialize};

use crate::statistics::distributions::student_cdf;
use crate::statistics::order::{MAD_TO_SIGMA, mad_about, median_of};

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
/// The fast detector's level of significance…
const FAST_SIGNIFICANCE: f64 = 7e-4;
/// …and the full one's, which looks at every place of a window.
const FULL_SIGNIFICANCE: f64 = 1e-5;
/// Results that the fast detector waits for.
const NEWEST: usize = 4;
/// Results that make a level.
const LEVEL: usize = 3;
/// Results before that the newest are held against.
const REFERENCE: usize = 50;

/// Suspects in a series of medians, oldest first, each change once.
pub fn suspects(medians: &[f64]) -> Vec<Suspect> {
    let logs: Vec<f64> = medians.iter().map(|median| median.ln()).collect();
    if !logs.iter().all(|log| log.is_finite()) {
        return Vec::new();
    }
    let mut found = full(&logs);
    if let Some(newest) = fast(&logs)
        && !found
            .iter()
            .any(|suspect| suspect.index.abs_diff(newest.index) <= LEVEL)
    {
        found.push(newest);
    }
    found.sort_by_key(|suspect| suspect.index);
    found
}

/// The newest results against the level before them: slower or not.
fn fast(logs: &[f64]) -> Option<Suspect> {
    let split = logs.len().checked_sub(NEWEST)?;
    let reference = &logs[split.saturating_sub(REFERENCE)..split];
    // A spread from fewer is a guess.
    if reference.len() < 10 {
        return None;
    }
    let (level, spread) = clipped_mean(reference, 3.0, None);
    let (newest, _) = clipped_mean(&logs[split..], 1.5, Some(spread));
    let change = newest - level;
    // Clipping costs 5 % of the information.
    let error = 1.05 * spread * (1.0 / NEWEST as f64 + 1.0 / reference.len() as f64).sqrt();
    let freedom = reference.len() as f64 - 1.0;
    let p_value = student_cdf(-change / error.max(1e-12), freedom);
    // Two outliers among four would pass for a level: all but one of the newest must be up.
    let mut rising = logs[split..].to_vec();
    rising.sort_unstable_by(f64::total_cmp);
    let all_up = rising[1] - level > 1.2 * spread;
    (p_value < FAST_SIGNIFICANCE && change > MAGNITUDE && all_up).then(|| Suspect {
        index: split,
        change: change.exp_m1(),
        p_value,
    })
}

/// Mean and standard deviation of values moved to within `reach` spreads of their median; the
/// spread is their own MAD where none is given.
fn clipped_mean(values: &[f64], reach: f64, spread: Option<f64>) -> (f64, f64) {
    let middle = median_of(values);
    let spread = spread.unwrap_or_else(|| MAD_TO_SIGMA * mad_about(values, middle));
    let n = values.len() as f64;
    let clipped: Vec<f64> = values
        .iter()
        .map(|value| value.clamp(middle - reach * spread, middle + reach * spread))
        .collect();
    let mean = clipped.iter().sum::<f64>() / n;
    let squares: f64 = clipped.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0)).sqrt())
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
    use super::*;
    use crate::random::Random;

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
    fn short_and_broken_histories_have_no_suspects() {
        assert!(suspects(&[]).is_empty());
        assert!(suspects(&[1.0, 2.0, 1.0]).is_empty());
        assert!(suspects(&[1.0, 0.0, 1.0, f64::NAN]).is_empty());
        assert!(suspects(&[1.0; 40]).is_empty());
    }
}
