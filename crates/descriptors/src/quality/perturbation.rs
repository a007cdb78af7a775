//! Jitter and shimmer: how much neighbouring periods differ in length and in strength, as Praat's manual
//! defines them (*Voice 2. Jitter*, *Voice 3. Shimmer*).

use std::f64::consts::PI;

use serde::Serialize;
use warpsmith_signal::{Kept, Recording, Result};

/// Neighbouring periods whose lengths differ by more than this factor are not neighbours.
const LARGEST_FACTOR: f64 = 1.3;
/// Shortest and longest period, seconds.
const PERIODS: (f64, f64) = (0.0001, 0.02);
/// Neighbouring periods whose amplitudes differ by more than this factor are not compared.
const LARGEST_AMPLITUDE_FACTOR: f64 = 1.6;
/// What an amplitude looks at on either side of a pulse, over the period of that side.
const REACH: f64 = 0.2;

/// The irregularity of a voice; shares, not per cent. NaN where too few periods follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Perturbation {
    /// Mean difference of neighbouring periods over the mean period.
    pub jitter_local: f64,
    /// Mean difference of neighbouring periods, seconds.
    pub jitter_absolute: f64,
    /// Mean difference of a period from the mean of itself and its two neighbours, over the mean
    /// period.
    pub jitter_rap: f64,
    /// The same with two neighbours on either side.
    pub jitter_ppq5: f64,
    /// Mean difference of neighbouring amplitudes over the mean amplitude.
    pub shimmer_local: f64,
    /// Mean difference of neighbouring amplitudes, dB.
    pub shimmer_db: f64,
    /// Mean difference of an amplitude from the mean of itself and its two neighbours, over the mean
    /// amplitude.
    pub shimmer_apq3: f64,
    /// The same with two neighbours on either side.
    pub shimmer_apq5: f64,
    /// The same with five neighbours on either side.
    pub shimmer_apq11: f64,
    /// Pairs of periods that were compared.
    pub periods: usize,
}

impl Perturbation {
    /// Measures the periods between `pulses`, seconds; `None` where no two neighbours can be compared.
    pub fn measure(signal: &[f32], sample_rate: u32, pulses: &[f64]) -> Option<Self> {
        let mut amplitudes = Amplitudes::default();
        let mut kept = Kept::default();
        kept.push(signal);
        for place in Place::of_all(pulses) {
            amplitudes.add(&kept, f64::from(sample_rate), &place);
        }
        Self::of(pulses, &amplitudes)
    }

    /// The same of a recording whose pulses are known, in their order.
    pub fn measure_of(recording: &dyn Recording, pulses: &[f64]) -> Result<Option<Self>> {
        let rate = f64::from(recording.sample_rate());
        let mut places = Place::of_all(pulses).peekable();
        let (mut amplitudes, mut kept) = (Amplitudes::default(), Kept::default());
        let mut add_to = |end: f64, kept: &Kept<f32>| {
            while let Some(place) = places.next_if(|place| place.samples(rate).1 <= end) {
                amplitudes.add(kept, rate, &place);
            }
            places.peek().map(|place| place.samples(rate).0)
        };
        recording.hear(&mut |piece| {
            kept.push(piece);
            let needed = add_to(kept.end() as f64, &kept);
            kept.forget(needed.unwrap_or(f64::INFINITY).max(0.0) as usize);
            Ok(())
        })?;
        // The last may reach beyond the end.
        add_to(f64::INFINITY, &kept);
        Ok(Self::of(pulses, &amplitudes))
    }

    fn of(pulses: &[f64], amplitudes: &Amplitudes) -> Option<Self> {
        let periods: Vec<f64> = pulses.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let local = mean(pairs(&periods).map(|pair| (pair[1] - pair[0]).abs()))?;
        let period = mean(
            (0..periods.len())
                .filter(|n| has_neighbour(&periods, *n))
                .map(|n| periods[n]),
        )?;
        let quotient = |reach: usize| {
            let runs = periods.windows(2 * reach + 1);
            let runs = runs.filter(|run| run.windows(2).all(are_neighbours));
            mean(runs.map(from_mean)).unwrap_or(f64::NAN) / period
        };
        Some(Self {
            jitter_local: local / period,
            jitter_absolute: local,
            jitter_rap: quotient(1),
            jitter_ppq5: quotient(2),
            shimmer_local: amplitudes.local(|a, b| (a - b).abs()) / amplitudes.mean(),
            shimmer_db: amplitudes.local(|a, b| (20.0 * (a / b).log10()).abs()),
            shimmer_apq3: amplitudes.quotient(1),
            shimmer_apq5: amplitudes.quotient(2),
            shimmer_apq11: amplitudes.quotient(5),
            periods: pairs(&periods).count(),
        })
    }
}

/// Whether a period is one of a voice.
fn fits(period: f64) -> bool {
    (PERIODS.0..=PERIODS.1).contains(&period)
}

/// Whether two periods follow each other in one voice.
fn are_neighbours(pair: &[f64]) -> bool {
    fits(pair[0]) && fits(pair[1]) && pair[0].max(pair[1]) <= LARGEST_FACTOR * pair[0].min(pair[1])
}

/// Neighbouring periods.
fn pairs(periods: &[f64]) -> impl Iterator<Item = &[f64]> {
    periods.windows(2).filter(|pair| are_neighbours(pair))
}

/// Whether period `n` counts: it is like one next to it.
fn has_neighbour(periods: &[f64], n: usize) -> bool {
    let alike = |other: Option<&f64>| {
        other.is_some_and(|other| {
            let factor = other / periods[n];
            (1.0 / LARGEST_FACTOR..=LARGEST_FACTOR).contains(&factor)
        })
    };
    let before = n.checked_sub(1).and_then(|n| periods.get(n));
    fits(periods[n]) && (alike(before) || alike(periods.get(n + 1)))
}

/// How far the middle of an odd number of values is from their mean.
fn from_mean(run: &[f64]) -> f64 {
    (run[run.len() / 2] - run.iter().sum::<f64>() / run.len() as f64).abs()
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0usize);
    for value in values {
        sum += value;
        count += 1;
    }
    (count > 0).then(|| sum / count as f64)
}

/// A pulse between two periods that follow each other, and how far its amplitude looks to either side, seconds.
struct Place {
    seconds: f64,
    left: f64,
    right: f64,
}

impl Place {
    fn of_all(pulses: &[f64]) -> impl Iterator<Item = Self> {
        pulses.windows(3).filter_map(|three| {
            let around = [three[1] - three[0], three[2] - three[1]];
            are_neighbours(&around).then(|| Self {
                seconds: three[1],
                left: REACH * around[0],
                right: REACH * around[1],
            })
        })
    }

    /// The first sample that counts, and one past the last, which may lie beyond the ends.
    fn samples(&self, rate: f64) -> (f64, f64) {
        let low = ((self.seconds - self.left) * rate - 0.5).ceil();
        let high = ((self.seconds + self.right) * rate - 0.5).floor() + 1.0;
        (low, high)
    }
}

/// The strength of the pulses between two periods that follow each other.
#[derive(Default)]
struct Amplitudes {
    seconds: Vec<f64>,
    values: Vec<f64>,
}

impl Amplitudes {
    /// Adds the strength of the next pulse.
    fn add(&mut self, signal: &Kept<f32>, rate: f64, place: &Place) {
        self.seconds.push(place.seconds);
        self.values.push(root_mean_square(signal, rate, place));
    }

    /// Whether amplitude `n` and the next one can be compared.
    fn are_neighbours(&self, n: usize) -> bool {
        let (a, b) = (self.values[n], self.values[n + 1]);
        fits(self.seconds[n + 1] - self.seconds[n])
            && a.max(b) <= LARGEST_AMPLITUDE_FACTOR * a.min(b)
    }

    /// The mean of all but the last, which no other follows.
    fn mean(&self) -> f64 {
        let followed = &self.values[..self.values.len().saturating_sub(1)];
        mean(followed.iter().copied()).unwrap_or(f64::NAN)
    }

    fn local(&self, difference: fn(f64, f64) -> f64) -> f64 {
        let pairs = (1..self.values.len()).filter(|n| self.are_neighbours(n - 1));
        mean(pairs.map(|n| difference(self.values[n - 1], self.values[n]))).unwrap_or(f64::NAN)
    }

    fn quotient(&self, reach: usize) -> f64 {
        let runs = self.values.windows(2 * reach + 1).enumerate();
        let runs =
            runs.filter(|(first, _)| (*first..first + 2 * reach).all(|n| self.are_neighbours(n)));
        mean(runs.map(|(_, run)| from_mean(run))).unwrap_or(f64::NAN) / self.mean()
    }
}

/// Root of the mean square around a pulse, under a raised cosine that reaches so far to either side.
fn root_mean_square(signal: &Kept<f32>, rate: f64, place: &Place) -> f64 {
    let (low, high) = place.samples(rate);
    let low = low.max(0.0) as usize;
    let samples = signal.slice(low..high.max(0.0) as usize);
    let (mut squares, mut weights) = (0.0, 0.0);
    for (n, sample) in (low..).zip(samples) {
        let distance = (n as f64 + 0.5) / rate - place.seconds;
        let reach = if distance < 0.0 {
            place.left
        } else {
            place.right
        };
        let weight = 0.5 + 0.5 * (PI * distance / reach).cos();
        squares += (weight * f64::from(*sample)).powi(2);
        weights += weight * weight;
    }
    (squares / weights.max(f64::MIN_POSITIVE)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_irregularity_is_measured() {
        // Periods 8 and 8.16 ms in turn: neighbours differ by 0.16 around 8.08.
        let rate = 48_000;
        let mut pulses = vec![0.1f64];
        for n in 0..60 {
            pulses.push(pulses[n] + if n % 2 == 0 { 0.008 } else { 0.008_16 });
        }
        // Constant between the middles of periods, so that windows around pulses see one level.
        let mut signal = vec![0.0f32; 48_000];
        for (index, three) in pulses.windows(3).enumerate() {
            let level = if index % 2 == 0 { 0.5 } else { 0.55 };
            let [low, high] = [(three[0], three[1]), (three[1], three[2])]
                .map(|(a, b)| (f64::midpoint(a, b) * 48_000.0) as usize);
            signal[low..high].fill(level);
        }
        let found = Perturbation::measure(&signal, rate, &pulses).unwrap();
        let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-2, "{a}, {b}: {found:?}");
        close(found.jitter_local, 0.16 / 8.08);
        close(found.jitter_absolute, 0.000_16);
        close(found.jitter_rap, 0.16 * 2.0 / 3.0 / 8.08);
        close(found.jitter_ppq5, 0.16 * 2.0 / 5.0 / 8.08);
        close(found.shimmer_local, 0.05 / 0.525);
        close(found.shimmer_db, 20.0 * 1.1f64.log10());
        close(found.shimmer_apq3, 0.05 * 2.0 / 3.0 / 0.525);
        close(found.shimmer_apq5, 0.05 * 2.0 / 5.0 / 0.525);
        close(found.shimmer_apq11, 0.05 * 6.0 / 11.0 / 0.525);
        assert_eq!(found.periods, 59);
        assert!(Perturbation::measure(&signal, rate, &pulses[..2]).is_none());
    }

    #[test]
    fn a_gap_between_two_stretches_is_not_compared() {
        let signal = vec![0.5f32; 48_000];
        let mut pulses: Vec<f64> = (0..20).map(|n| 0.1 + 0.008 * f64::from(n)).collect();
        pulses.extend((0..20).map(|n| 0.5 + 0.004 * f64::from(n)));
        let found = Perturbation::measure(&signal, 48_000, &pulses).unwrap();
        assert!(found.jitter_local < 1e-9, "{found:?}");
        assert_eq!(found.periods, 36);
    }

    #[test]
    fn few_periods_have_no_wide_quotients() {
        let signal = vec![0.5f32; 4800];
        let pulses = [0.01, 0.018, 0.026, 0.034];
        let found = Perturbation::measure(&signal, 48_000, &pulses).unwrap();
        assert!(found.jitter_ppq5.is_nan() && found.shimmer_apq11.is_nan());
        assert!(found.shimmer_local.abs() < 1e-9);
    }
}
