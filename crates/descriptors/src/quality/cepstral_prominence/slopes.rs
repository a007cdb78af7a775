//! The median of the slopes of all pairs of points, without looking at all of them.
//!
//! Points are ordered by `y − θx`. Two of them stand against the order of their `x` there just where their slope is
//! below θ: one sort counts those slopes, and what changes places on the way to another θ are the pairs with slopes
//! between (Matoušek 1991). Frames are like the ones before: their last median says where to begin, which costs
//! time where it is wrong, and never changes the result.

/// Points up to which all pairs are looked at.
const FEW: usize = 64;

/// Slopes in a sample.
const SAMPLE: usize = 301;

/// The share of all pairs that a step is meant to pass.
const STEP: f64 = 0.004;

/// Slopes that are closer than this share of them may differ by rounding alone: their order says nothing.
const ROUNDING: f64 = 1e-9;

/// Steps to either side before all pairs are looked at.
const MOST_STEPS: usize = 40;

/// Median slopes of one set of points after the other.
#[derive(Default)]
pub(super) struct MedianSlopes {
    /// Where the next median is looked for: the last one, and the distance that passes a [`STEP`] of the pairs.
    near: Option<(f64, f64)>,
}

/// The order of points by their heights above the line with some slope; of equal ones the first.
#[derive(Clone)]
struct Order {
    slope: f64,
    points: Vec<(f64, u32)>,
}

impl MedianSlopes {
    /// The median of the slopes of all pairs of points whose `x` ascend; 0 where there is none.
    pub(super) fn median(&mut self, x: &[f64], y: &[f64]) -> f64 {
        let pairs = x.len() * x.len().saturating_sub(1) / 2;
        if pairs == 0 || y.iter().all(|height| *height == y[0]) {
            return 0.0;
        }
        let points = Points { x, y };
        let ranks = ((pairs - 1) / 2, pairs / 2);
        let found = (x.len() > FEW).then(|| self.narrowed(points, pairs, ranks));
        found
            .flatten()
            .unwrap_or_else(|| ranked(&mut points.all(), ranks.0, ranks.1))
    }

    /// The mean of two ranks among the slopes, from those near them; `None` where ties or rounding hide which those
    /// are.
    fn narrowed(&mut self, points: Points<'_>, pairs: usize, ranks: (usize, usize)) -> Option<f64> {
        let (near, step) = self.near.take().unwrap_or_else(|| points.guess());
        // Frames may be equal: at their median itself two points would have one height.
        let start = near - step;
        let mut low = points.order(start);
        let mut high = low.clone();
        let mut below = inversions(&low.points);
        let mut slopes = Vec::new();
        // So far as slopes are known to lie, each step is as long as what is missing.
        let by = |missing: usize| step * (1.0 + missing as f64 / (STEP * pairs as f64));
        for number in 0..MOST_STEPS {
            let wider = f64::from(1u32 << (number / 2).min(31));
            let known = slopes.len();
            if below > ranks.0 {
                let slope = low.slope - wider * by(below - ranks.0);
                points.turn(&mut low, slope, &mut slopes);
                below = below.checked_sub(slopes.len() - known)?;
            } else if below + known <= ranks.1 {
                let slope = high.slope + wider * by(ranks.1 + 1 - below - known);
                points.turn(&mut high, slope, &mut slopes);
            } else {
                break;
            }
        }
        if below > ranks.0 || below + slopes.len() <= ranks.1 {
            return None;
        }
        let passed = slopes.len() as f64;
        let found = ranked(&mut slopes, ranks.0 - below, ranks.1 - below);
        let is_near = |slope: f64| (found - slope).abs() <= ROUNDING * (found.abs() + slope.abs());
        if !found.is_finite() || [start, low.slope, high.slope].into_iter().any(is_near) {
            return None;
        }
        let step = (high.slope - low.slope) * STEP * pairs as f64 / passed;
        self.near = step.is_finite().then_some((found, step));
        Some(found)
    }
}

/// The mean of two neighbouring ranks, which may be the same.
pub(super) fn ranked(values: &mut [f64], low: usize, high: usize) -> f64 {
    let (before, upper, _) = values.select_nth_unstable_by(high, f64::total_cmp);
    let upper = *upper;
    if low == high {
        return upper;
    }
    let lower = before.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    0.5 * (lower + upper)
}

#[derive(Clone, Copy)]
struct Points<'a> {
    x: &'a [f64],
    y: &'a [f64],
}

impl Points<'_> {
    fn slope(self, a: usize, b: usize) -> f64 {
        (self.y[b] - self.y[a]) / (self.x[b] - self.x[a])
    }

    /// The slopes of all pairs.
    fn all(self) -> Vec<f64> {
        let pairs = (1..self.x.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
        pairs.map(|(a, b)| self.slope(a, b)).collect()
    }

    /// The median of slopes of pairs that are drawn at random, and the distance that passes a [`STEP`] of them.
    fn guess(self) -> (f64, f64) {
        let count = self.x.len();
        let mut state = 1u64;
        let mut draw = |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) as usize) % below
        };
        let mut sample: Vec<f64> = (0..SAMPLE)
            .map(|_| {
                let a = draw(count);
                let b = (a + 1 + draw(count - 1)) % count;
                self.slope(a, b)
            })
            .collect();
        sample.sort_unstable_by(f64::total_cmp);
        let [first, middle, third] = [1, 2, 3].map(|part| sample[part * SAMPLE / 4]);
        let step = 2.0 * STEP * (third - first);
        (middle, step.max(ROUNDING.sqrt() * middle.abs()))
    }

    /// The points in the order of `y − slope · x`.
    fn order(self, slope: f64) -> Order {
        let heights = self.x.iter().zip(self.y).map(|(x, y)| y - slope * x);
        let mut points: Vec<(f64, u32)> = heights.zip(0..).collect();
        points.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        Order { slope, points }
    }

    /// Makes an order that for another slope: all pairs that change places on the way have slopes between, which
    /// are added.
    fn turn(self, order: &mut Order, slope: f64, passed: &mut Vec<f64>) {
        order.slope = slope;
        let points = &mut order.points;
        for (height, point) in &mut *points {
            let at = *point as usize;
            *height = self.y[at] - slope * self.x[at];
        }
        for end in 1..points.len() {
            let own = points[end];
            let mut place = end;
            while place > 0 {
                let other = points[place - 1];
                if other.0 < own.0 || (other.0 == own.0 && other.1 < own.1) {
                    break;
                }
                passed.push(self.slope(other.1 as usize, own.1 as usize));
                points[place] = other;
                place -= 1;
            }
            points[place] = own;
        }
    }
}

/// Pairs of which the later point stands before the earlier one.
fn inversions(order: &[(f64, u32)]) -> usize {
    let mut seen = vec![0u64; order.len().div_ceil(64)];
    let mut count = 0;
    for (_, point) in order {
        let (word, bit) = (*point as usize / 64, *point % 64);
        let later = seen[word] & (u64::MAX << bit << 1);
        count += later.count_ones();
        count += seen[word + 1..]
            .iter()
            .map(|word| word.count_ones())
            .sum::<u32>();
        seen[word] |= 1 << bit;
    }
    count as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_definition(x: &[f64], y: &[f64]) -> f64 {
        let mut slopes = Points { x, y }.all();
        let count = slopes.len();
        ranked(&mut slopes, (count - 1) / 2, count / 2)
    }

    fn logarithms(count: usize) -> Vec<f64> {
        (10..10 + count).map(|n| (n as f64).ln()).collect()
    }

    fn noise(count: usize, seed: u64) -> Vec<f64> {
        let mut state = seed;
        let values = (0..count).map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        });
        values.collect()
    }

    #[test]
    fn the_median_of_many_slopes_is_that_of_all_pairs_without_looking_at_all() {
        // What was found before is where the next search begins, however far away it is.
        let mut slopes = MedianSlopes::default();
        for (count, seed) in [(65, 1), (128, 2), (130, 3), (491, 4), (491, 5), (900, 6)] {
            let x = logarithms(count);
            // Level noise, a steep line with noise, and noise with an exponential tail.
            for (slope, power) in [(0.0, 1), (0.0, 1), (-20.0, 1), (3.0, 9), (1e6, 2)] {
                let noise = noise(count, seed);
                let heights = noise.iter().zip(&x);
                let y: Vec<f64> = heights
                    .map(|(noise, x)| slope * x + 30.0 * noise.powi(power))
                    .collect();
                let points = Points { x: &x, y: &y };
                let pairs = count * (count - 1) / 2;
                let ranks = ((pairs - 1) / 2, pairs / 2);
                let narrowed = slopes.narrowed(points, pairs, ranks);
                assert_eq!(narrowed, Some(by_definition(&x, &y)), "{count} {slope}");
            }
        }
    }

    #[test]
    fn slopes_between_two_are_those_of_all_pairs() {
        let (x, y) = (logarithms(200), noise(200, 8));
        let points = Points { x: &x, y: &y };
        let (low, high) = (-0.3, 0.9);
        let mut order = points.order(low);
        let all = points.all();
        assert_eq!(
            inversions(&order.points),
            all.iter().filter(|slope| **slope < low).count()
        );
        let mut expected = all;
        expected.retain(|slope| (low..high).contains(slope));
        expected.sort_by(f64::total_cmp);
        // There and back.
        for slope in [high, low] {
            let mut found = Vec::new();
            points.turn(&mut order, slope, &mut found);
            assert_eq!(order.points, points.order(slope).points);
            found.sort_by(f64::total_cmp);
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn ties_and_rounding_do_not_mislead() {
        let mut slopes = MedianSlopes::default();
        let x = logarithms(300);
        let steps: Vec<f64> = noise(300, 9).iter().map(|y| (4.0 * y).floor()).collect();
        let flat: Vec<f64> = (0..300).map(|n| f64::from(n % 50 == 7)).collect();
        let line: Vec<f64> = x.iter().map(|x| 3.0 - 0.25 * x).collect();
        for y in [
            &steps,
            &steps,
            &flat,
            &line,
            &line,
            &noise(300, 3),
            &line,
            &flat,
        ] {
            assert_eq!(slopes.median(&x, y), by_definition(&x, y));
        }
        assert_eq!(slopes.median(&x, &[2.5; 300]), 0.0);
        assert_eq!(slopes.median(&[1.0], &[2.0]), 0.0);
    }
}
