//! What becomes of a contour: percentiles, slopes between its tops and bottoms, and runs.

/// Seconds between frames.
const STEP_SECONDS: f64 = 0.01;
/// A change of less than this share of the range is neither a top nor a bottom.
const LEAST_CHANGE: f64 = 0.1;
/// A top that is this much higher replaces the one before it.
const HIGHER: f64 = 1.05;
/// Frames at either end that have no tops.
const MARGIN: usize = 2;
/// Frames of the shortest run, and frames of others that end it.
const LEAST_RUN: usize = 3;
const LEAST_PAUSE: usize = 2;

/// A percentile, between two values in proportion.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    let place = share * sorted.len().saturating_sub(1) as f64;
    let low = place as usize;
    match (sorted.get(low), sorted.get(low + 1)) {
        (Some(a), Some(b)) => a + (place - low as f64) * (b - a),
        (Some(a), None) => *a,
        _ => 0.0,
    }
}

/// The 20th, 50th and 80th percentile, and the distance of the outer two.
pub(super) fn percentiles(values: &[f64]) -> [f64; 4] {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let [low, middle, high] = [0.2, 0.5, 0.8].map(|share| percentile(&sorted, share));
    [low, middle, high, high - low]
}

/// A top or a bottom of a contour.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Extreme {
    at: usize,
    value: f64,
    is_top: bool,
}

/// Tops and bottoms in turn, as openSMILE chooses them among all: first tops that hardly rise go, then bottoms that
/// hardly fall, then of two tops or two bottoms in a row the lesser one.
fn extremes(values: &[f64]) -> Vec<Extreme> {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let change = LEAST_CHANGE * (most - least);
    let inside = MARGIN..values.len().saturating_sub(MARGIN);
    let all = inside.filter_map(|at| {
        let [before, here, after] = [values[at - 1], values[at], values[at + 1]];
        let is_top = here > before && here > after;
        let is_bottom = here < before && here < after;
        (is_top || is_bottom).then_some(Extreme {
            at,
            value: here,
            is_top,
        })
    });
    let first = values.first().copied().unwrap_or(0.0);
    let rising = without_small_tops(all.collect(), first, change);
    in_turn(without_small_bottoms(rising, first, change))
}

fn without_small_tops(all: Vec<Extreme>, first: f64, change: f64) -> Vec<Extreme> {
    let mut kept: Vec<Option<Extreme>> = all.iter().copied().map(Some).collect();
    let (mut last, mut last_bottom, mut last_top) = (first, first, first);
    let mut chosen = None;
    // Whether a bottom has come since the last top.
    let mut fallen = false;
    for (n, extreme) in all.iter().enumerate() {
        let value = extreme.value;
        let is_small = (value - last).abs() < change;
        last = value;
        if !extreme.is_top {
            if !is_small {
                (fallen, last_bottom) = (true, value);
            }
            continue;
        }
        let is_low = value - last_bottom < change;
        let replaces = value > last_top * HIGHER;
        if is_small && is_low {
            kept[n] = None;
            continue;
        }
        if is_small && !replaces && !fallen {
            kept[n] = None;
        } else {
            if is_small
                && replaces
                && let Some(before) = chosen
            {
                kept[before] = None;
            }
            (last_top, chosen) = (value, Some(n));
        }
        fallen = false;
    }
    kept.into_iter().flatten().collect()
}

fn without_small_bottoms(mut extremes: Vec<Extreme>, first: f64, change: f64) -> Vec<Extreme> {
    let mut last_top = first;
    extremes.retain(|extreme| {
        if extreme.is_top {
            last_top = extreme.value;
        }
        extreme.is_top || last_top - extreme.value >= change
    });
    extremes
}

fn in_turn(extremes: Vec<Extreme>) -> Vec<Extreme> {
    let mut turns: Vec<Extreme> = Vec::with_capacity(extremes.len());
    for extreme in extremes {
        match turns.last_mut() {
            Some(last) if last.is_top == extreme.is_top => {
                let is_more = if extreme.is_top {
                    extreme.value > last.value
                } else {
                    extreme.value < last.value
                };
                if is_more {
                    *last = extreme;
                }
            }
            _ => turns.push(extreme),
        }
    }
    turns
}

/// Mean and deviation of rising slopes, then of falling ones, per second. The start of the contour counts as a top and
/// as a bottom; what comes after the last of them counts for a mean and for no deviation.
pub(super) fn slopes(values: &[f64]) -> [f64; 4] {
    let extremes = extremes(values);
    let Some((first, end)) = values.first().zip(values.last()) else {
        return [0.0; 4];
    };
    let (mut rising, mut falling) = (Slopes::default(), Slopes::default());
    let (mut top, mut bottom) = ((0, *first), (0, *first));
    for extreme in &extremes {
        let here = (extreme.at, extreme.value);
        if extreme.is_top {
            top = here;
            rising.add(steepness(bottom, top));
        } else {
            bottom = here;
            falling.add(-steepness(top, bottom));
        }
    }
    let last = (values.len() - 1, *end);
    match extremes.last() {
        Some(extreme) if extreme.is_top => falling.rest = steepness(top, last),
        Some(_) => rising.rest = steepness(bottom, last),
        None => {
            let whole = (end - first) / values.len() as f64;
            return [whole.max(0.0), 0.0, whole.min(0.0), 0.0];
        }
    }
    let ([up, up_spread], [down, down_spread]) = (rising.summed(), falling.summed());
    [up, up_spread, down, down_spread]
}

/// Change per second; none where there is no time between.
fn steepness((from, low): (usize, f64), (to, high): (usize, f64)) -> f64 {
    if to == from {
        return f64::NAN;
    }
    (high - low) / ((to - from) as f64 * STEP_SECONDS)
}

struct Slopes {
    all: Vec<f64>,
    /// After the last extreme; not a number where there is none.
    rest: f64,
}

impl Default for Slopes {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            rest: f64::NAN,
        }
    }
}

impl Slopes {
    fn add(&mut self, slope: f64) {
        if slope.is_finite() {
            self.all.push(slope);
        }
    }

    fn summed(&self) -> [f64; 2] {
        let rest = Some(self.rest).filter(|rest| rest.is_finite());
        let count = (self.all.len() + usize::from(rest.is_some())).max(1) as f64;
        let mean = (self.all.iter().sum::<f64>() + rest.unwrap_or(0.0)) / count;
        let squares: f64 = self.all.iter().map(|slope| (slope - mean).powi(2)).sum();
        [mean, (squares / count).sqrt()]
    }
}

/// Tops per second.
pub(super) fn tops_per_second(values: &[f64]) -> f64 {
    let tops = extremes(values)
        .iter()
        .filter(|extreme| extreme.is_top)
        .count();
    tops as f64 / (values.len().max(1) as f64 * STEP_SECONDS)
}

/// Runs of frames for which `is` holds: how many per second, mean and deviation of their seconds. openSMILE counts
/// from the first frame of a run to its last, and one other frame does not end it; where there are more than a thousand
/// it leaves the rest out, which is not done here.
pub(super) fn runs(values: &[f64], is: impl Fn(f64) -> bool) -> [f64; 3] {
    let mut lengths: Vec<f64> = Vec::new();
    // The first frame of a run that may be one, frames of it, and frames of others since.
    let mut open: Option<(usize, usize, usize)> = None;
    let mut close = |(first, inside, others): (usize, usize, usize), at: usize| {
        if inside >= LEAST_RUN {
            lengths.push((at - others - 1 - first) as f64 * STEP_SECONDS);
        }
    };
    for (at, value) in values.iter().enumerate() {
        open = match (open, is(*value)) {
            (None, false) => None,
            (None, true) => Some((at, 1, 0)),
            (Some((first, inside, _)), true) => Some((first, inside + 1, 0)),
            (Some((first, inside, others)), false) if others + 1 < LEAST_PAUSE => {
                Some((first, inside, others + 1))
            }
            (Some((first, inside, others)), false) => {
                close((first, inside, others), at);
                None
            }
        };
    }
    if let Some(run) = open {
        close(run, values.len());
    }
    let count = lengths.len() as f64;
    let mean = lengths.iter().sum::<f64>() / count.max(1.0);
    let squares: f64 = lengths.iter().map(|length| (length - mean).powi(2)).sum();
    let seconds = values.len().max(1) as f64 * STEP_SECONDS;
    [count / seconds, mean, (squares / count.max(1.0)).sqrt()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contour_is_summed_up_by_definition() {
        let [low, middle, high, range] = percentiles(&[4.0, 0.0, 1.0, 3.0, 2.0, 5.0]);
        assert_eq!((low, middle, high, range), (1.0, 2.5, 4.0, 3.0));
        // Up 10 in 2 frames, down 5 in 1, up 5 in 5, down 4 in 3; a wobble of half a unit is neither.
        let values = [0.0, 4.0, 10.0, 5.0, 6.0, 5.5, 7.0, 9.0, 10.0, 9.0, 8.0, 6.0];
        let found: Vec<(usize, bool)> = extremes(&values)
            .iter()
            .map(|extreme| (extreme.at, extreme.is_top))
            .collect();
        assert_eq!(found, [(2, true), (3, false), (8, true)]);
        let [up, _, down, _] = slopes(&values);
        assert!((up - (500.0 + 100.0) / 2.0).abs() < 1e-9, "{up}");
        // What comes after the last top falls, and counts as a rise that is negative.
        assert!((down - (500.0 - 400.0 / 3.0) / 2.0).abs() < 1e-9, "{down}");
        assert!((tops_per_second(&values) - 2.0 / 0.12).abs() < 1e-9);
    }

    #[test]
    fn runs_bridge_one_frame_and_have_three_of_their_own() {
        let voiced = [0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0];
        let [count, length, spread] = runs(&voiced, |x| x > 0.0);
        assert!((count - 1.0 / 0.12).abs() < 1e-9 && (length - 0.03).abs() < 1e-12);
        assert_eq!(spread, 0.0);
        let [count, length, _] = runs(&[1.0; 10], |x| x > 0.0);
        assert!((count - 10.0).abs() < 1e-9 && (length - 0.09).abs() < 1e-12);
    }

    #[test]
    fn nothing_and_a_constant_have_no_slopes() {
        assert_eq!(slopes(&[]), [0.0; 4]);
        assert_eq!(slopes(&[3.0; 9]), [0.0; 4]);
        assert_eq!(tops_per_second(&[]), 0.0);
        assert_eq!(percentiles(&[]), [0.0; 4]);
        assert_eq!(runs(&[], |_| true), [0.0; 3]);
    }
}
