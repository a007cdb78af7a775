//! With which period a sound repeats itself at an instant: the correlation of the period before with the
//! period after (as in Medan, Yair and Chazan 1991).
//!
//! Both stretches are as long as the lag that is tried and lie side by side around the instant, so that
//! a glide of the pitch, however steep, has no bias: what is measured is its mean over two periods.
//! Instants a little before and after are heard too, at half weight: noise differs there, the voice does
//! not.

use crate::pitch::autocorrelation::Stretch;
use crate::pitch::path::Candidate;
use crate::pitch::range::PitchRange;
use warpsmith_signal::parabola;

/// Octaves on either side of the frequency in question that are tried.
const SPAN: f64 = 0.42;
/// The shortest stretch that is compared, samples.
const SHORTEST: usize = 24;
/// Least correlation of a candidate.
const LEAST: f64 = 0.3;
/// How far off the instants before and after are, periods.
const ASIDE: f64 = 0.35;

/// Scratch memory for signals of one sample rate.
pub(super) struct Repetition {
    rate: f64,
    range: PitchRange,
    /// Sums of samples and of their squares up to each sample of a neighbourhood.
    sums: Vec<[f64; 2]>,
    /// Correlation at each lag that is tried.
    correlation: Vec<f64>,
}

impl Repetition {
    pub(super) fn new(rate: f64, range: PitchRange) -> Self {
        Self {
            rate,
            range,
            sums: Vec::new(),
            correlation: Vec::new(),
        }
    }

    /// `near` itself and the frequencies around it at which the correlation has a maximum.
    pub(super) fn candidates(
        &mut self,
        signal: Stretch<'_>,
        centre: usize,
        near: f64,
    ) -> Vec<Candidate> {
        let period = self.rate / near;
        let low = (period * (-SPAN).exp2()).max(self.rate / self.range.high_hz) as usize;
        let high = (period * SPAN.exp2())
            .ceil()
            .min(self.rate / self.range.low_hz + 1.0) as usize;
        let (low, high) = (low.saturating_sub(1).max(1), high + 1);
        let aside = (ASIDE * period) as usize;
        // The longest lag looks furthest.
        let reach = (high + high.max(SHORTEST)).div_ceil(2) + aside;
        let start = centre.saturating_sub(reach);
        let end = (centre + reach).min(signal.length());
        let Some(around) = signal.get(start..end) else {
            return vec![Candidate {
                frequency: near,
                strength: 0.0,
            }];
        };
        self.sums.clear();
        let mut sum = [0.0f64; 2];
        self.sums.push(sum);
        self.sums.extend(around.iter().map(|x| {
            let x = f64::from(*x);
            sum = [sum[0] + x, sum[1] + x * x];
            sum
        }));
        self.correlation.clear();
        for lag in low..=high {
            let at = |instant| self.correlate(around, instant, lag);
            let centre = centre - start;
            let beside = at(centre.saturating_sub(aside)) + at(centre + aside);
            let value = 0.5 * (at(centre) + 0.5 * beside);
            self.correlation.push(value);
        }
        let r = &self.correlation;
        let place = (period - low as f64).clamp(0.0, (r.len() - 1) as f64);
        let (left, share) = (place as usize, place.fract());
        let here = r[left] + share * (r[(left + 1).min(r.len() - 1)] - r[left]);
        let mut found = vec![Candidate {
            frequency: near,
            strength: here,
        }];
        for k in 1..r.len().saturating_sub(1) {
            if r[k] > LEAST && r[k] > r[k - 1] && r[k] >= r[k + 1] {
                let (place, height) = parabola([r[k - 1], r[k], r[k + 1]], low + k);
                found.push(Candidate {
                    frequency: self.rate / place,
                    strength: height,
                });
            }
        }
        found
    }

    /// Seconds from `centre` to the middle of what a period repeats of the one before; 0 at the edges.
    pub(super) fn late(&self, signal: Stretch<'_>, centre: usize, frequency: f64) -> f64 {
        let period = (self.rate / frequency).round() as usize;
        let stretch = |from: usize| signal.get(from..from + period);
        let Some((a, b)) = centre
            .checked_sub(period)
            .and_then(|first| stretch(first).zip(stretch(centre)))
        else {
            return 0.0;
        };
        let (mut moment, mut weight) = (0.0f64, 0.0f64);
        for (n, (a, b)) in a.iter().zip(b).enumerate() {
            let alike = f64::from((a * b).max(0.0));
            moment += alike * n as f64;
            weight += alike;
        }
        if weight > 0.0 {
            (moment / weight - 0.5 * period as f64) / self.rate
        } else {
            0.0
        }
    }

    /// The correlation of two stretches, `lag` apart and about as long, around `centre`; 0 where they
    /// leave the neighbourhood or one of them is constant.
    fn correlate(&self, around: &[f32], centre: usize, lag: usize) -> f64 {
        let length = lag.max(SHORTEST);
        let Some(first) = centre.checked_sub((lag + length) / 2) else {
            return 0.0;
        };
        let second = first + lag;
        let (Some(a), Some(b)) = (
            around.get(first..first + length),
            around.get(second..second + length),
        ) else {
            return 0.0;
        };
        let count = length as f64;
        let moments = |from: usize| {
            let (low, high) = (self.sums[from], self.sums[from + length]);
            let mean = (high[0] - low[0]) / count;
            (mean, high[1] - low[1] - count * mean * mean)
        };
        let ((mean_a, energy_a), (mean_b, energy_b)) = (moments(first), moments(second));
        let energy = energy_a * energy_b;
        if energy <= 1e-24 {
            return 0.0;
        }
        (product(a, b) - count * mean_a * mean_b) / energy.sqrt()
    }
}

/// The sum of products, in sixteen partial sums that a machine adds side by side.
fn product(a: &[f32], b: &[f32]) -> f64 {
    let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<16>(), b.as_chunks::<16>());
    let mut sums = [0.0f32; 16];
    for (a, b) in a.iter().zip(b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    let rest: f32 = rest_a.iter().zip(rest_b).map(|(a, b)| a * b).sum();
    sums.iter().chain(&[rest]).map(|x| f64::from(*x)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pulse train's worth of harmonics under `phase(seconds)`, in periods.
    fn voice(samples: usize, phase: impl Fn(f64) -> f64) -> Vec<f32> {
        (0..samples)
            .map(|n| {
                let turn = std::f64::consts::TAU * phase(n as f64 / 16_000.0);
                (1..10)
                    .map(|k| (f64::from(k) * turn).cos() / f64::from(k))
                    .sum::<f64>() as f32
            })
            .collect()
    }

    #[test]
    fn a_glide_of_two_octaves_in_a_second_is_met_where_a_far_guess_was() {
        // f = 100·4^t, so that the phase is its integral.
        let four = 4f64.ln();
        let signal = voice(16_000, |t| 100.0 * ((four * t).exp() - 1.0) / four);
        let mut repetition = Repetition::new(16_000.0, PitchRange::VOICE);
        for centre in [3200usize, 8000, 12_800] {
            let truth = 100.0 * (four * centre as f64 / 16_000.0).exp();
            let found = repetition.candidates(Stretch::all(&signal), centre, 1.2 * truth);
            let best = found
                .iter()
                .max_by(|a, b| a.strength.total_cmp(&b.strength));
            let cents = 1200.0 * (best.unwrap().frequency / truth).log2().abs();
            assert!(cents < 10.0, "{centre}: {cents} cents");
        }
    }

    #[test]
    fn an_instant_at_the_edge_keeps_the_answer_in_question() {
        let signal = voice(400, |t| 200.0 * t);
        let mut repetition = Repetition::new(16_000.0, PitchRange::VOICE);
        for centre in [0, 5, 399, 4000] {
            let found = repetition.candidates(Stretch::all(&signal), centre, 100.0);
            assert_eq!(found[0].frequency, 100.0);
        }
        let silent = repetition.candidates(Stretch::all(&[0.0; 4000]), 2000, 100.0);
        assert_eq!(silent.len(), 1);
    }
}
