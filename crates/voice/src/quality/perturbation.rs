//! Jitter and shimmer: how much neighbouring periods differ in length and in strength.

use serde::Serialize;

/// Neighbouring periods whose lengths differ by more than this factor are not neighbours.
const LARGEST_FACTOR: f64 = 1.3;
/// Shortest and longest period, seconds.
const PERIODS: (f64, f64) = (0.0001, 0.02);
/// Neighbouring periods whose amplitudes differ by more than this factor are not compared.
const LARGEST_AMPLITUDE_FACTOR: f64 = 1.6;

/// The irregularity of a voice; shares, not per cent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Perturbation {
    /// Mean difference of neighbouring periods over the mean period.
    pub jitter_local: f64,
    /// Mean difference of a period from the mean of itself and its two neighbours, over the mean
    /// period.
    pub jitter_rap: f64,
    /// Mean difference of neighbouring amplitudes over the mean amplitude.
    pub shimmer_local: f64,
    /// Periods that were compared.
    pub periods: usize,
}

impl Perturbation {
    /// Measures the periods between `pulses`, seconds; `None` with fewer than three of them.
    pub fn measure(signal: &[f32], sample_rate: u32, pulses: &[f64]) -> Option<Self> {
        let periods: Vec<f64> = pulses.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let amplitudes: Vec<f64> = pulses
            .windows(2)
            .map(|pair| amplitude(signal, f64::from(sample_rate), pair[0], pair[1]))
            .collect();
        let fits = |period: f64| (PERIODS.0..=PERIODS.1).contains(&period);
        let neighbours =
            |a: f64, b: f64| fits(a) && fits(b) && a.max(b) < LARGEST_FACTOR * a.min(b);
        let (mut differences, mut mean) = (Mean::default(), Mean::default());
        let mut shimmers = Mean::default();
        let mut strength = Mean::default();
        for (index, pair) in periods.windows(2).enumerate() {
            if !neighbours(pair[0], pair[1]) {
                continue;
            }
            differences.add((pair[1] - pair[0]).abs());
            mean.add(f64::midpoint(pair[0], pair[1]));
            let (a, b) = (amplitudes[index], amplitudes[index + 1]);
            if a.max(b) <= LARGEST_AMPLITUDE_FACTOR * a.min(b) {
                shimmers.add((b - a).abs());
                strength.add(f64::midpoint(a, b));
            }
        }
        let mut averages = Mean::default();
        for triple in periods.windows(3) {
            if neighbours(triple[0], triple[1]) && neighbours(triple[1], triple[2]) {
                let around = triple.iter().sum::<f64>() / 3.0;
                averages.add((triple[1] - around).abs());
            }
        }
        let period = mean.value()?;
        Some(Self {
            jitter_local: differences.value()? / period,
            jitter_rap: averages.value().unwrap_or(0.0) / period,
            shimmer_local: shimmers.value().unwrap_or(0.0)
                / strength.value().unwrap_or(1.0).max(f64::MIN_POSITIVE),
            periods: differences.count,
        })
    }
}

/// Root of the mean square of a period.
fn amplitude(signal: &[f32], rate: f64, from: f64, to: f64) -> f64 {
    let low = ((from * rate).max(0.0) as usize).min(signal.len());
    let high = ((to * rate).max(0.0) as usize).clamp(low, signal.len());
    let squares: f64 = signal[low..high]
        .iter()
        .map(|x| f64::from(*x).powi(2))
        .sum();
    (squares / (high - low).max(1) as f64).sqrt()
}

#[derive(Default)]
struct Mean {
    sum: f64,
    count: usize,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn value(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
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
        let mut signal = vec![0.0f32; 48_000];
        for (index, pair) in pulses.windows(2).enumerate() {
            let level = if index % 2 == 0 { 0.5 } else { 0.55 };
            let (low, high) = ((pair[0] * 48_000.0) as usize, (pair[1] * 48_000.0) as usize);
            signal[low..high].fill(level);
        }
        let found = Perturbation::measure(&signal, rate, &pulses).unwrap();
        assert!((found.jitter_local - 0.16 / 8.08).abs() < 1e-4, "{found:?}");
        assert!((found.jitter_rap - 0.16 * 2.0 / 3.0 / 8.08).abs() < 1e-4);
        assert!(
            (found.shimmer_local - 0.05 / 0.525).abs() < 1e-3,
            "{found:?}"
        );
        assert_eq!(found.periods, 59);
        assert!(Perturbation::measure(&signal, rate, &pulses[..2]).is_none());
    }
}
