//! The median of the slopes of all pairs of points, without looking at all of them.
//!
//! Points are ordered by `y − θx`. Two of them stand against the order of their `x` there just where their slope is
//! below θ: one sort counts those slopes, and what changes places between two orders are the pairs with slopes
//! between (Matoušek 1991). A sample says where to look; what it says costs time, and never changes the result.

/// Points up to which all pairs are looked at.
const FEW: usize = 64;

/// Slopes in a sample.
const SAMPLE: usize = 301;

/// Slopes that are closer than this share of them may differ by rounding alone: their order says nothing.
const ROUNDING: f64 = 1e-9;

/// The median of the slopes of all pairs of points whose `x` ascend; 0 where there is none.
pub(super) fn median_slope(x: &[f64], y: &[f64]) -> f64 {
    let pairs = x.len() * x.len().saturating_sub(1) / 2;
    if pairs == 0 || y.iter().all(|height| *height == y[0]) {
        return 0.0;
    }
    let points = Points { x, y };
    let ranks = ((pairs - 1) / 2, pairs / 2);
    let found = (x.len() > FEW).then(|| points.narrowed(pairs, ranks));
    found
        .flatten()
        .unwrap_or_else(|| ranked(&mut points.all(), ranks.0, ranks.1))
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

    /// The mean of two ranks among the slopes, from those near them; `None` where ties or rounding hide which those
    /// are.
    fn narrowed(self, pairs: usize, ranks: (usize, usize)) -> Option<f64> {
        let sample = self.sample();
        // How far the sample's median lies from that of all.
        let below = inversions(&self.order(quantile(&sample, 0.5)));
        let shift = (ranks.0 as f64 + 0.5 - below as f64) / pairs as f64;
        // Three standard deviations of the share of a sample that lies in between.
        let mut reach = 3.0 * ((shift.abs() + 1.0 / SAMPLE as f64) / SAMPLE as f64).sqrt();
        for _ in 0..2 {
            let [low, high] = [-reach, reach].map(|by| quantile(&sample, 0.5 + shift + by));
            let apart = high - low > ROUNDING * (low.abs() + high.abs());
            if !(apart && low.is_finite() && high.is_finite()) {
                return None;
            }
            let lower = self.order(low);
            let below = inversions(&lower);
            if below <= ranks.0 {
                let mut between = self.between(&lower, &self.order(high));
                if ranks.1 < below + between.len() {
                    return Some(ranked(&mut between, ranks.0 - below, ranks.1 - below));
                }
            }
            reach *= 4.0;
        }
        None
    }

    /// Slopes of pairs that are drawn at random, the lowest first.
    fn sample(self) -> Vec<f64> {
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
        sample
    }

    /// The points in the order of `y − slope · x`, of equal ones the first.
    fn order(self, slope: f64) -> Vec<usize> {
        let heights = self.x.iter().zip(self.y).map(|(x, y)| y - slope * x);
        let mut points: Vec<(f64, usize)> = heights.zip(0..).collect();
        points.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        points.into_iter().map(|(_, point)| point).collect()
    }

    /// The slopes of the pairs that stand one way in `lower` and the other way in `higher`.
    fn between(self, lower: &[usize], higher: &[usize]) -> Vec<f64> {
        let mut rank = vec![0; higher.len()];
        for (place, point) in higher.iter().enumerate() {
            rank[*point] = place;
        }
        let mut seen = Places::new(higher.len());
        let mut slopes = Vec::new();
        for &point in lower {
            seen.each_above(rank[point], |place| {
                slopes.push(self.slope(higher[place], point));
            });
            seen.insert(rank[point]);
        }
        slopes
    }
}

/// The value below which a share of the values lies.
fn quantile(ascending: &[f64], share: f64) -> f64 {
    let last = ascending.len() - 1;
    let place = (share * ascending.len() as f64 - 0.5).clamp(0.0, last as f64);
    let below = place as usize;
    let (low, high) = (ascending[below], ascending[(below + 1).min(last)]);
    low + (place - below as f64) * (high - low)
}

/// Pairs of which the larger stands before the smaller.
fn inversions(order: &[usize]) -> usize {
    let mut seen = Places::new(order.len());
    let mut count = 0;
    for &point in order {
        count += seen.count_above(point);
        seen.insert(point);
    }
    count
}

/// A set of whole numbers below some number.
struct Places {
    words: Vec<u64>,
}

impl Places {
    fn new(count: usize) -> Self {
        Self {
            words: vec![0; count.div_ceil(64)],
        }
    }

    fn insert(&mut self, place: usize) {
        self.words[place / 64] |= 1 << (place % 64);
    }

    /// The words from that of `place` on, without what is not above it.
    fn above(&self, place: usize) -> impl Iterator<Item = u64> {
        let mut mask = u64::MAX << (place % 64) << 1;
        self.words[place / 64..].iter().map(move |word| {
            let above = word & mask;
            mask = u64::MAX;
            above
        })
    }

    fn count_above(&self, place: usize) -> usize {
        self.above(place)
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    fn each_above(&self, place: usize, mut see: impl FnMut(usize)) {
        for (number, mut word) in (place / 64..).zip(self.above(place)) {
            while word != 0 {
                see(64 * number + word.trailing_zeros() as usize);
                word &= word - 1;
            }
        }
    }
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
        for (count, seed) in [(65, 1), (128, 2), (130, 3), (491, 4), (491, 5), (900, 6)] {
            let x = logarithms(count);
            // Level noise, a steep line with noise, and noise with an exponential tail.
            for (slope, power) in [(0.0, 1), (-20.0, 1), (3.0, 9)] {
                let noise = noise(count, seed);
                let heights = noise.iter().zip(&x);
                let y: Vec<f64> = heights
                    .map(|(noise, x)| slope * x + 30.0 * noise.powi(power))
                    .collect();
                let points = Points { x: &x, y: &y };
                let pairs = count * (count - 1) / 2;
                let narrowed = points.narrowed(pairs, ((pairs - 1) / 2, pairs / 2));
                assert_eq!(narrowed, Some(by_definition(&x, &y)), "{count} {slope}");
            }
        }
    }

    #[test]
    fn slopes_between_two_are_those_of_all_pairs() {
        let (x, y) = (logarithms(200), noise(200, 8));
        let points = Points { x: &x, y: &y };
        let (low, high) = (-0.3, 0.9);
        let orders = [low, high].map(|slope| points.order(slope));
        let all = points.all();
        assert_eq!(
            inversions(&orders[0]),
            all.iter().filter(|slope| **slope < low).count()
        );
        let mut expected = all;
        expected.retain(|slope| (low..high).contains(slope));
        let mut found = points.between(&orders[0], &orders[1]);
        expected.sort_by(f64::total_cmp);
        found.sort_by(f64::total_cmp);
        assert_eq!(found, expected);
    }

    #[test]
    fn ties_and_rounding_do_not_mislead() {
        let x = logarithms(300);
        let steps: Vec<f64> = noise(300, 9).iter().map(|y| (4.0 * y).floor()).collect();
        assert_eq!(median_slope(&x, &steps), by_definition(&x, &steps));
        let flat: Vec<f64> = (0..300).map(|n| f64::from(n % 50 == 7)).collect();
        assert_eq!(median_slope(&x, &flat), by_definition(&x, &flat));
        let line: Vec<f64> = x.iter().map(|x| 3.0 - 0.25 * x).collect();
        assert_eq!(median_slope(&x, &line), by_definition(&x, &line));
        assert_eq!(median_slope(&x, &[2.5; 300]), 0.0);
        assert_eq!(median_slope(&[1.0], &[2.0]), 0.0);
    }
}
