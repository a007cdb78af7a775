//! The block bootstrap: how far mean and percentiles of a series would move if the same machine
//! were sampled again.
//!
//! Samples a tenth of a second apart repeat each other, so whole blocks of five seconds are drawn
//! (circularly, so that the ends count like the middle). Figures of a resample are read from counts
//! per distinct value: no sorting, time linear in the samples.

use super::series::Series;

/// Length of a block.
const BLOCK_MS: u32 = 5_000;
/// Resamples: enough for the 2.5 % ends of an interval.
const RESAMPLES: usize = 400;

/// A series prepared for resampling.
pub(super) struct Resampler {
    /// Distinct values, rising.
    distinct: Vec<f64>,
    /// For each sample the position of its value among the distinct.
    ranks: Vec<u32>,
    block: usize,
}

impl Resampler {
    /// `None` of an empty series.
    pub(super) fn new(series: &Series) -> Option<Self> {
        if series.is_empty() {
            return None;
        }
        let mut distinct = series.values.clone();
        distinct.sort_by(f64::total_cmp);
        distinct.dedup();
        let ranks = series
            .values
            .iter()
            .map(|value| distinct.partition_point(|other| other < value) as u32)
            .collect();
        // At least four blocks, or there would be nothing to draw from.
        let block = series.samples_in(BLOCK_MS).min(series.len().div_ceil(4));
        Some(Self {
            distinct,
            ranks,
            block,
        })
    }

    /// Smallest and largest value.
    pub(super) fn extremes(&self) -> (f64, f64) {
        (self.distinct[0], self.distinct[self.distinct.len() - 1])
    }

    /// Mean, P50, P95 and P99 of the series itself.
    pub(super) fn whole(&self) -> [f64; 4] {
        let mut counts = vec![0; self.distinct.len()];
        for &rank in &self.ranks {
            counts[rank as usize] += 1;
        }
        self.figures(&counts)
    }

    /// Mean, P50, P95 and P99 of resamples.
    pub(super) fn resample(&self, seed: u64) -> Vec<[f64; 4]> {
        let n = self.ranks.len();
        let mut random = seed;
        let mut counts = vec![0u32; self.distinct.len()];
        (0..RESAMPLES)
            .map(|_| {
                counts.fill(0);
                let mut drawn = 0;
                while drawn < n {
                    let length = self.block.min(n - drawn);
                    let start = (next_random(&mut random) % n as u64) as usize;
                    let end = start + length;
                    for &rank in &self.ranks[start..end.min(n)] {
                        counts[rank as usize] += 1;
                    }
                    for &rank in &self.ranks[..end.saturating_sub(n)] {
                        counts[rank as usize] += 1;
                    }
                    drawn += length;
                }
                self.figures(&counts)
            })
            .collect()
    }

    /// The percentile bootstrap is too narrow on few blocks. The factor is Student's t against
    /// the normal quantile, times the bias of a variance of so few.
    pub(super) fn widening(&self) -> f64 {
        let blocks = (self.ranks.len() as f64 / self.block as f64).max(2.0);
        let freedom = blocks - 1.0;
        // 97.5 % quantile of Student's t by Cornish-Fisher; within 1 % from 4 degrees on.
        let z = 1.959_964;
        let t = z
            + (z * z * z + z) / (4.0 * freedom)
            + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * freedom * freedom);
        (t / z) * (blocks / freedom).sqrt()
    }

    fn figures(&self, counts: &[u32]) -> [f64; 4] {
        let n = self.ranks.len();
        let mut sum = 0.0;
        for (count, value) in counts.iter().zip(&self.distinct) {
            sum += f64::from(*count) * value;
        }
        let mut figures = [sum / n as f64, 0.0, 0.0, 0.0];
        let (mut position, mut seen) = (0, counts[0] as usize);
        for (slot, p) in [0.5, 0.95, 0.99].into_iter().enumerate() {
            let wanted = (n - 1) as f64 * p;
            let below = wanted.floor() as usize;
            // The order statistic `below` is the first value whose running count exceeds it.
            while seen <= below {
                position += 1;
                seen += counts[position] as usize;
            }
            let low = self.distinct[position];
            let high = if seen > below + 1 || below + 1 >= n {
                low
            } else {
                let after = (position + 1..counts.len()).find(|&at| counts[at] > 0);
                after.map_or(low, |at| self.distinct[at])
            };
            figures[slot + 1] = low + (high - low) * (wanted - below as f64);
        }
        figures
    }
}

/// SplitMix64: small, fast, and good enough to draw blocks.
pub(super) fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut x = *state;
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::statistics::quantile;
    use super::*;

    proptest! {
        #[test]
        fn figures_from_counts_are_those_of_the_sorted_values(
            values in prop::collection::vec(-50i32..50, 1..300)
        ) {
            let mut values: Vec<f64> = values.into_iter().map(|v| f64::from(v) / 4.0).collect();
            let series = Series { at_ms: (0..values.len() as u32).map(|n| n * 100).collect(), values: values.clone() };
            let [mean, p50, p95, p99] = Resampler::new(&series).unwrap().whole();
            values.sort_by(f64::total_cmp);
            prop_assert!((mean - values.iter().sum::<f64>() / values.len() as f64).abs() < 1e-9);
            for (figure, p) in [(p50, 0.5), (p95, 0.95), (p99, 0.99)] {
                prop_assert!((figure - quantile(&values, p).unwrap()).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn autocorrelated_samples_get_wider_intervals_than_independent_ones() {
        let spread = |correlation: f64| {
            let (mut random, mut value) = (1, 0.0);
            let values: Vec<f64> = (0..600)
                .map(|_| {
                    let noise = next_random(&mut random) as f64 / u64::MAX as f64 - 0.5;
                    value = correlation * value + (1.0 - correlation * correlation).sqrt() * noise;
                    value
                })
                .collect();
            let series = Series {
                at_ms: (0..600).map(|n| n * 100).collect(),
                values,
            };
            let mut means: Vec<f64> = Resampler::new(&series)
                .unwrap()
                .resample(7)
                .iter()
                .map(|f| f[0])
                .collect();
            means.sort_by(f64::total_cmp);
            quantile(&means, 0.975).unwrap() - quantile(&means, 0.025).unwrap()
        };
        assert!(spread(0.95) > 2.5 * spread(0.0));
    }
}
