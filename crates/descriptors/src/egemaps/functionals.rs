//! What becomes of a contour: moments, percentiles, slopes between its tops and bottoms, and runs.

/// Seconds between frames.
pub(super) const STEP_SECONDS: f64 = 0.01;
/// A change of less than this share of the range is neither a top nor a bottom.
const LEAST_CHANGE: f64 = 0.1;

/// The values of a contour that are not absent.
pub(super) fn present(values: &[f64]) -> Vec<f64> {
    values
        .iter()
        .copied()
        .filter(|value| *value != 0.0)
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn deviation(values: &[f64]) -> f64 {
    let middle = mean(values);
    let squares: Vec<f64> = values.iter().map(|x| (x - middle).powi(2)).collect();
    mean(&squares).sqrt()
}

/// Mean, and deviation over mean; zeros where there is nothing.
pub(super) fn moments(values: &[f64]) -> [f64; 2] {
    let middle = mean(values);
    let share = if middle == 0.0 {
        0.0
    } else {
        deviation(values) / middle
    };
    [middle, share]
}

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

/// Tops and bottoms that a contour moves between, each a frame and whether it is a top.
fn extremes(values: &[f64]) -> Vec<(usize, bool)> {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let change = LEAST_CHANGE * (most - least);
    let mut found = Vec::new();
    if values.is_empty() || change.is_nan() || change <= 0.0 {
        return found;
    }
    let (mut low, mut high) = (0, 0);
    let mut rising = None;
    for (at, value) in values.iter().enumerate() {
        if rising != Some(false) && *value > values[high] {
            high = at;
        }
        if rising != Some(true) && *value < values[low] {
            low = at;
        }
        let (fallen, risen) = (values[high] - value, value - values[low]);
        if rising != Some(false) && fallen > change && (rising.is_some() || fallen >= risen) {
            found.push((high, true));
            (rising, low) = (Some(false), at);
        } else if rising != Some(true) && risen > change {
            found.push((low, false));
            (rising, high) = (Some(true), at);
        }
    }
    found.push(match rising {
        Some(true) => (high, true),
        _ => (low, false),
    });
    found
}

/// Mean and deviation of rising slopes, then of falling ones, per second.
pub(super) fn slopes(values: &[f64]) -> [f64; 4] {
    let extremes = extremes(values);
    let of = |top: bool| -> Vec<f64> {
        extremes
            .windows(2)
            .filter(|pair| pair[0].1 == top && pair[1].0 > pair[0].0)
            .map(|pair| {
                let seconds = (pair[1].0 - pair[0].0) as f64 * STEP_SECONDS;
                (values[pair[1].0] - values[pair[0].0]).abs() / seconds
            })
            .collect()
    };
    let (rising, falling) = (of(false), of(true));
    [
        mean(&rising),
        deviation(&rising),
        mean(&falling),
        deviation(&falling),
    ]
}

/// Tops per second.
pub(super) fn tops_per_second(values: &[f64]) -> f64 {
    let tops = extremes(values).iter().filter(|(_, top)| *top).count();
    tops as f64 / (values.len().max(1) as f64 * STEP_SECONDS)
}

/// Runs of frames for which `is` holds: how many per second, mean and deviation of their seconds.
pub(super) fn runs(values: &[f64], is: impl Fn(f64) -> bool) -> [f64; 3] {
    let mut lengths: Vec<f64> = Vec::new();
    let mut open = false;
    for value in values {
        let here = is(*value);
        if here && !open {
            // openSMILE counts from the first frame of a run to its last.
            lengths.push(-STEP_SECONDS);
        }
        if here && let Some(length) = lengths.last_mut() {
            *length += STEP_SECONDS;
        }
        open = here;
    }
    let seconds = values.len().max(1) as f64 * STEP_SECONDS;
    [
        lengths.len() as f64 / seconds,
        mean(&lengths),
        deviation(&lengths),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contour_is_summed_up_by_definition() {
        assert_eq!(moments(&[2.0, 4.0]), [3.0, 1.0 / 3.0]);
        assert_eq!(moments(&[]), [0.0, 0.0]);
        let [low, middle, high, range] = percentiles(&[4.0, 0.0, 1.0, 3.0, 2.0, 5.0]);
        assert_eq!((low, middle, high, range), (1.0, 2.5, 4.0, 3.0));
        // Up 10 in 2 frames, down 5 in 1, up 5 in 5; a wobble of half a unit is neither.
        let values = [0.0, 4.0, 10.0, 5.0, 6.0, 5.5, 7.0, 9.0, 10.0];
        assert_eq!(
            extremes(&values),
            [(0, false), (2, true), (3, false), (8, true)]
        );
        let [up, _, down, spread] = slopes(&values);
        assert!((up - (500.0 + 100.0) / 2.0).abs() < 1e-9, "{up}");
        assert!((down - 500.0).abs() < 1e-9 && spread == 0.0);
        assert!((tops_per_second(&values) - 2.0 / 0.09).abs() < 1e-9);
        let [count, length, _] = runs(&[0.0, 1.0, 1.0, 1.0, 0.0, 2.0], |x| x > 0.0);
        assert!((count - 2.0 / 0.06).abs() < 1e-9 && (length - 0.01).abs() < 1e-12);
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
