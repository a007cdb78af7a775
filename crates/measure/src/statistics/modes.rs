//! Modes of a distribution: a kernel density over the logarithm, cut at its valleys.
//!
//! A mode counts when its peak stands significantly above the valleys beside it and it holds at
//! least 2 % of the samples. A rebuild every twentieth step is a mode of its own.

use serde::{Deserialize, Serialize};

use super::quantile::type7;

/// One hump of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mode {
    /// Where it is highest.
    pub at: f64,
    /// Share of the samples that belong to it.
    pub share: f64,
}

const GRID: usize = 512;
const SMALLEST_SHARE: f64 = 0.02;

/// The modes of sorted positive samples, in rising order; one mode where nothing can be told.
pub fn modes(sorted: &[f64]) -> Vec<Mode> {
    let n = sorted.len();
    let whole = |at| vec![Mode { at, share: 1.0 }];
    if n == 0 {
        return Vec::new();
    }
    let median = type7(sorted, 0.5);
    if n < 50 || sorted[0] <= 0.0 {
        return whole(median);
    }
    let low = type7(sorted, 0.002).ln();
    let high = type7(sorted, 0.998).ln();
    let iqr = type7(sorted, 0.75).ln() - type7(sorted, 0.25).ln();
    let cell = (high - low) / GRID as f64;
    if cell <= 0.0 || cell.is_nan() {
        return whole(median);
    }
    // Silverman's width from the quartiles, so that a far second mode does not smear the first.
    let bandwidth = (0.9 * iqr / 1.349 * (n as f64).powf(-0.2)).max(2.0 * cell);
    let reach = ((3.0 * bandwidth / cell).ceil() as usize).min(GRID);
    let mut counts = vec![0.0; GRID + 2 * reach + 1];
    let mut before = 0;
    for position in 0..=GRID {
        let edge = (low + (position + 1) as f64 * cell).exp();
        let end = match position {
            GRID => n,
            _ => before + sorted[before..].partition_point(|sample| *sample < edge),
        };
        counts[reach + position] = (end - before) as f64;
        before = end;
    }
    let kernel: Vec<f64> = (0..=reach)
        .map(|offset| (-0.5 * (offset as f64 * cell / bandwidth).powi(2)).exp())
        .collect();
    // In samples under the kernel: what a Poisson test needs.
    let density: Vec<f64> = (0..counts.len())
        .map(|i| {
            (0..=reach)
                .map(|offset| {
                    let left = i.checked_sub(offset).map_or(0.0, |j| counts[j]);
                    let right = match offset {
                        0 => 0.0,
                        _ => counts.get(i + offset).copied().unwrap_or(0.0),
                    };
                    kernel[offset] * (left + right)
                })
                .sum()
        })
        .collect();
    let at = |i: usize| (low + (i as f64 - reach as f64 + 0.5) * cell).exp();
    let found: Vec<Mode> = basins(&density)
        .into_iter()
        .map(|basin| Mode {
            at: at(basin.peak),
            share: counts[basin.start..basin.end].iter().sum::<f64>() / n as f64,
        })
        .filter(|mode| mode.share >= SMALLEST_SHARE)
        .collect();
    if found.is_empty() {
        whole(median)
    } else {
        found
    }
}

struct Basin {
    start: usize,
    end: usize,
    peak: usize,
}

/// Cuts a density at its valleys and joins neighbours whose valley is not significantly lower than
/// both of their peaks.
fn basins(density: &[f64]) -> Vec<Basin> {
    let mut basins: Vec<Basin> = Vec::new();
    let mut start = 0;
    let mut peak = 0;
    for i in 1..=density.len() {
        let rises_again =
            i < density.len() && density[i] > density[i - 1] && density[i - 1] < density[peak];
        if rises_again || i == density.len() {
            let basin = Basin {
                start,
                end: i,
                peak,
            };
            join(&mut basins, basin, density);
            start = i;
            peak = i;
        } else if density[i] > density[peak] {
            peak = i;
        }
    }
    basins
}

fn join(basins: &mut Vec<Basin>, mut basin: Basin, density: &[f64]) {
    while let Some(before) = basins.last() {
        let valley = density[basin.start].min(density[basin.start.saturating_sub(1)]);
        let lower_peak = density[before.peak].min(density[basin.peak]);
        // A Poisson test, and a valley of at most half: noise on a broad hump is neither.
        let distinct =
            lower_peak - valley > 4.0 * (lower_peak + valley).sqrt() && valley < 0.5 * lower_peak;
        if distinct {
            break;
        }
        basin.start = before.start;
        if density[before.peak] > density[basin.peak] {
            basin.peak = before.peak;
        }
        basins.pop();
    }
    basins.push(basin);
}

#[cfg(test)]
mod tests {
    use warpsmith_workload::random::Random;

    use super::*;

    fn sorted(n: usize, seed: u64, mut sample: impl FnMut(usize, &mut Random) -> f64) -> Vec<f64> {
        let mut random = Random::seeded(seed);
        let mut samples: Vec<f64> = (0..n).map(|i| sample(i, &mut random)).collect();
        samples.sort_unstable_by(f64::total_cmp);
        samples
    }

    #[test]
    fn a_rebuild_every_twentieth_step_is_a_second_mode() {
        let samples = sorted(4000, 1, |i, random| {
            let base = if i % 20 == 0 { 3.0 } else { 1.0 };
            base * (1.0 + 0.02 * random.normal())
        });
        let modes = modes(&samples);
        assert_eq!(modes.len(), 2, "{modes:?}");
        assert!((modes[1].at - 3.0).abs() < 0.15 && (modes[1].share - 0.05).abs() < 0.005);
    }

    #[test]
    fn one_hump_is_one_mode_whatever_its_tail() {
        for seed in 0..40 {
            let normal = sorted(2000, seed, |_, random| {
                10.0 * (1.0 + 0.03 * random.normal())
            });
            assert_eq!(modes(&normal).len(), 1, "normal {seed}");
            let skewed = sorted(2000, seed, |_, random| 1.0 + (0.5 * random.normal()).exp());
            assert_eq!(modes(&skewed).len(), 1, "log-normal {seed}");
            let spiky = sorted(2000, seed, |_, random| {
                let spike = if random.unit() < 0.02 {
                    1.0 + 10.0 * random.unit()
                } else {
                    1.0
                };
                spike * (1.0 + 0.01 * random.normal())
            });
            assert_eq!(modes(&spiky).len(), 1, "spiky {seed}");
        }
    }

    #[test]
    fn equal_samples_are_one_mode() {
        assert_eq!(
            modes(&[2.0; 100]),
            [Mode {
                at: 2.0,
                share: 1.0
            }]
        );
        assert!(modes(&[]).is_empty());
    }
}
