//! The ways to read two results that were taken apart: as the clock has them, and beside the loops
//! that ran between their samples.
//!
//! A run meets the core at another clock or beside another neighbour than the run before. Work
//! follows either by more or by less than a loop of ours does, and nobody knows by how much. What
//! every reading shows is therefore the work's; what one of them explains may be the machine's.

use super::unpaired::block_log_ratios;
use crate::measurement::{Measurement, Probes};
use crate::statistics::order::{MAD_TO_SIGMA, mad_about, median_of};
use crate::statistics::quantile::type7;

/// What two runs say about ln(B/A).
pub(super) struct Readings {
    /// Blocks of the reading that is the steadiest.
    pub(super) steadiest: Vec<f64>,
    /// As the clock has it.
    pub(super) centre: f64,
    /// The smallest and the largest of all readings.
    pub(super) range: (f64, f64),
    /// How far the level of the steadiest reading wanders in both runs, as a standard deviation.
    pub(super) wandering: f64,
}

/// A sample by the clock that decides, with its place among all samples.
pub(super) type Placed = (usize, f64);

/// Pieces of a run whose levels are compared with one another…
const PIECES: usize = 8;
/// …and samples that a piece has at least.
const IN_A_PIECE: usize = 3;
/// Work may follow what slows a loop by this much more than the loop does.
const MOST_SENSITIVE: f64 = 1.25;

impl Readings {
    /// Reads two runs, each of which has a sample.
    pub(super) fn of(a: (&Measurement, &[Placed]), b: (&Measurement, &[Placed])) -> Self {
        let plain = |samples: &[Placed]| -> Vec<f64> {
            samples.iter().map(|(_, seconds)| *seconds).collect()
        };
        let mut pairs = vec![(plain(a.1), plain(b.1))];
        let loops: [fn(&Probes) -> &[f32]; 2] = [
            |probes| &probes.chain_seconds,
            |probes| &probes.cache_seconds,
        ];
        for times_of in loops {
            let (before, now) = (&a.0.probes, &b.0.probes);
            let first = beside(a.1, &before.before, times_of(before));
            let second = beside(b.1, &now.before, times_of(now));
            pairs.extend(first.zip(second));
        }
        let centre = (median_of(&pairs[0].1) / median_of(&pairs[0].0)).ln();
        // Neighbours come and go: what they do to the median they do less to the lower quartile, and
        // not to the fastest sample. Without the loops, samples are few and their fastest is chance.
        let levels: [fn(&[f64]) -> f64; 3] = [median_of, lower_quartile, fastest];
        let levels = match pairs.len() {
            1 => &levels[..2],
            _ => &levels[..],
        };
        let mut range = (centre, centre);
        let mut steadiest = (f64::INFINITY, 0);
        for (index, pair) in pairs.iter().enumerate() {
            let wanders = wandering(&pair.0).hypot(wandering(&pair.1));
            if wanders < steadiest.0 {
                steadiest = (wanders, index);
            }
            for level in levels {
                let ratio =
                    |(before, now): &(Vec<f64>, Vec<f64>)| (level(now) / level(before)).ln();
                let plain = ratio(&pairs[0]);
                let beside = plain + MOST_SENSITIVE * (ratio(pair) - plain);
                range = (range.0.min(beside), range.1.max(beside));
            }
        }
        let (wandering, index) = steadiest;
        let (before, now) = &pairs[index];
        Self {
            steadiest: block_log_ratios(before, now),
            centre,
            range,
            wandering,
        }
    }
}

/// Every sample over the time of a loop that ran just before it; `None` where it did not run, or a
/// file has something else in its place.
fn beside(samples: &[Placed], ran_before: &[usize], times: &[f32]) -> Option<Vec<f64>> {
    let sound = |time: &f32| time.is_finite() && *time > 0.0;
    let complete = !times.is_empty() && times.len() == ran_before.len();
    if !complete || !times.iter().all(sound) {
        return None;
    }
    let mut last = 0;
    let relative = samples.iter().map(|(place, seconds)| {
        while ran_before.get(last + 1).is_some_and(|next| next <= place) {
            last += 1;
        }
        seconds / f64::from(times[last])
    });
    Some(relative.collect())
}

fn fastest(samples: &[f64]) -> f64 {
    samples.iter().copied().fold(f64::INFINITY, f64::min)
}

fn lower_quartile(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    type7(&sorted, 0.25)
}

/// How far the level of a run wanders: the deviation between the medians of its pieces, beyond what
/// their samples explain.
fn wandering(samples: &[f64]) -> f64 {
    let pieces = PIECES.min(samples.len() / IN_A_PIECE);
    if pieces < 3 {
        return 0.0;
    }
    let piece = |k: usize| {
        let (start, end) = (k * samples.len() / pieces, (k + 1) * samples.len() / pieces);
        &samples[start..end]
    };
    let levels: Vec<f64> = (0..pieces).map(|k| median_of(piece(k)).ln()).collect();
    // The error of a median of independent samples.
    let explained = (0..pieces).map(|k| {
        let middle = median_of(piece(k));
        let spread = MAD_TO_SIGMA * mad_about(piece(k), middle) / middle;
        1.57 * spread.powi(2) / piece(k).len() as f64
    });
    let explained: f64 = explained.sum::<f64>() / pieces as f64;
    (deviation(&levels).powi(2) - explained).max(0.0).sqrt()
}

pub(super) fn deviation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len().max(2) - 1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use warpsmith_workload::random::Random;

    use super::*;
    use crate::cpu::machine_probe::MachineSpeed;
    use crate::measurement::Sample;

    #[test]
    fn noise_of_single_samples_is_no_wandering() {
        let mut random = Random::seeded(9);
        let mut mean = 0.0;
        for _ in 0..100 {
            let samples: Vec<f64> = (0..80).map(|_| 1.0 + 0.05 * random.normal()).collect();
            mean += wandering(&samples) / 100.0;
        }
        // The medians of ten samples spread by 2 %.
        assert!(mean < 0.01, "{mean}");
        assert_eq!(wandering(&[1.0; 4]), 0.0);
    }

    #[test]
    fn a_clock_that_jumps_is_steady_beside_a_loop() {
        let run = |first: f64, second: f64| {
            let mut measurement = Measurement::imported("x", Vec::new());
            for index in 0..200 {
                let clock = if index < 100 { first } else { second };
                if index % 10 == 0 {
                    measurement.push_probe(MachineSpeed {
                        chain_seconds: 20e-6 * clock,
                        cache_seconds: 10e-6,
                    });
                }
                let noise = 1.0 + 0.002 * f64::from(index % 5);
                measurement.push(Sample::of_seconds(1e-3 * clock * noise));
            }
            measurement
        };
        let placed =
            |of: &Measurement| -> Vec<Placed> { of.seconds.iter().copied().enumerate().collect() };
        let (a, b) = (run(1.0, 1.07), run(1.07, 1.14));
        let (samples_a, samples_b) = (placed(&a), placed(&b));
        let readings = Readings::of((&a, &samples_a), (&b, &samples_b));
        assert!(readings.wandering < 1e-3, "{}", readings.wandering);
        assert!(readings.steadiest.iter().all(|ratio| ratio.abs() < 5e-3));
        assert!(readings.range.0 < 5e-3 && readings.range.1 > 0.06);
        let mut without = a.clone();
        without.probes = Probes::default();
        let readings = Readings::of((&without, &samples_a), (&b, &samples_b));
        assert!(readings.wandering > 0.03 && readings.range.0 > 0.06);
    }
}
