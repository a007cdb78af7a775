//! True peak after ITU-R BS.1770-4, annex 2: the largest magnitude of the signal at four times its rate.
//!
//! Three filters of 32 taps interpolate between samples, where the recommendation's own have 12: up to 0.9 of half the
//! rate they err by less than 0.04 dB. Where no sum of the filters' weights over the samples around
//! could reach the peak so far, nothing is summed: quiet parts cost a look at their loudest sample.

use std::f64::consts::PI;

use warpsmith_lanes::{Blocks, InstructionSet, Lanes, LanesTask, Task};

use crate::error::Result;

/// Rates from which on samples lie close enough together.
const DENSE_RATE: u32 = 176_400;
/// Samples that a filter reaches on either side, and its taps.
const REACH: usize = 16;
const TAPS: usize = 2 * REACH;
/// The shape of the Kaiser window.
const BETA: f64 = 5.0;
/// Samples after which values between them are looked at together.
const BLOCK: usize = 128;
/// Places between two samples.
const PLACES: usize = 3;

/// The true peak of sound that arrives in pieces: any cutting gives the same bits.
pub(super) struct TruePeak {
    /// None where samples are dense.
    filters: Option<Filters>,
    /// What is left of each channel, from `REACH − 1` samples before the next block on.
    pending: Vec<Vec<f32>>,
    peak: f32,
}

impl TruePeak {
    pub(super) fn new(sample_rate: u32, channels: usize) -> Result<Self> {
        let dense = sample_rate >= DENSE_RATE;
        Ok(Self {
            filters: (!dense).then(Filters::new),
            // Before the first sample there is silence.
            pending: vec![vec![0.0; REACH - 1]; channels],
            peak: 0.0,
        })
    }

    /// Takes the next samples of each channel.
    pub(super) fn push(&mut self, channels: &[&[f32]]) {
        for channel in channels {
            self.peak = largest(channel).max(self.peak);
        }
        let Some(filters) = &self.filters else {
            return;
        };
        for (pending, channel) in self.pending.iter_mut().zip(channels) {
            pending.extend_from_slice(channel);
            let blocks = pending.len().saturating_sub(TAPS - 1) / BLOCK;
            for block in 0..blocks {
                let samples = &pending[block * BLOCK..][..BLOCK + TAPS - 1];
                self.peak = filters.look(samples, BLOCK, self.peak);
            }
            pending.drain(..blocks * BLOCK);
        }
    }

    /// The true peak of all channels, dBTP; −∞ for silence.
    pub(super) fn finish(self) -> f64 {
        let mut peak = self.peak;
        if let Some(filters) = &self.filters {
            for mut samples in self.pending {
                // Behind those of the reach lie the samples that are left, and then there is silence.
                let left = samples.len() - (REACH - 1);
                samples.resize(left.next_multiple_of(BLOCK) + TAPS - 1, 0.0);
                for start in (0..left).step_by(BLOCK) {
                    let block = &samples[start..][..BLOCK + TAPS - 1];
                    peak = filters.look(block, BLOCK.min(left - start), peak);
                }
            }
        }
        20.0 * f64::from(peak).log10()
    }
}

/// The largest magnitude.
fn largest(samples: &[f32]) -> f32 {
    // Several maxima at a time: one would wait for the last.
    let (blocks, rest) = samples.as_chunks::<32>();
    let mut tops = [0.0f32; 32];
    for block in blocks {
        for (top, x) in tops.iter_mut().zip(block) {
            *top = top.max(x.abs());
        }
    }
    let rest = rest.iter().map(|x| x.abs());
    rest.chain(tops).fold(0.0, f32::max)
}

/// Filters for the places between two samples.
struct Filters {
    /// `[tap, place]`.
    weights: [[f32; PLACES]; TAPS],
    /// More than what the magnitudes of any filter's weights add up to.
    gain: f32,
}

impl Filters {
    fn new() -> Self {
        let mut weights = [[0.0f32; PLACES]; TAPS];
        let mut gain = 0.0f64;
        for place in 0..PLACES {
            let filter: Vec<f64> = (0..TAPS)
                .map(|tap| {
                    let at = tap as f64 - (REACH - 1) as f64 - (place + 1) as f64 / 4.0;
                    (PI * at).sin() / (PI * at) * kaiser(at / REACH as f64)
                })
                .collect();
            let sum: f64 = filter.iter().sum();
            for (weights, weight) in weights.iter_mut().zip(&filter) {
                weights[place] = (weight / sum) as f32;
            }
            gain = gain.max(filter.iter().map(|weight| (weight / sum).abs()).sum());
        }
        Self {
            weights,
            // Sums of so many products are rounded by less.
            gain: 1.001 * gain as f32,
        }
    }

    /// The peak with what lies behind each of the first `count` samples of a block, which has `REACH − 1` samples
    /// before it and `REACH` behind.
    fn look(&self, samples: &[f32], count: usize, peak: f32) -> f32 {
        if self.gain * largest(samples) <= peak {
            return peak;
        }
        let between = InstructionSet::widest().with_lanes(
            Blocks::Wide,
            Between {
                weights: &self.weights,
                samples,
                count,
            },
        );
        peak.max(between)
    }
}

/// Kaiser's window at a share of its half width.
fn kaiser(share: f64) -> f64 {
    let bessel = |x: f64| {
        let (mut term, mut sum, mut k) = (1.0, 1.0, 1.0);
        while term > 1e-17 * sum {
            term *= (x / (2.0 * k)).powi(2);
            sum += term;
            k += 1.0;
        }
        sum
    };
    bessel(BETA * (1.0 - share * share).max(0.0).sqrt()) / bessel(BETA)
}

/// The largest magnitude between the first `count` samples of a block and their next ones.
struct Between<'a> {
    weights: &'a [[f32; PLACES]; TAPS],
    samples: &'a [f32],
    count: usize,
}

impl LanesTask for Between<'_> {
    type Output = f32;

    fn run<V: Lanes>(self) -> f32 {
        let count = self.count;
        let mut values = [[V::splat(0.0); PLACES]; 2];
        let mut peak = 0.0f32;
        let mut tops = [V::splat(0.0); 2];
        for start in (0..count).step_by(2 * V::WIDTH) {
            // A lane that is wider than a block is left has samples of zero behind it.
            V::vectorize(SumTask {
                weights: self.weights,
                samples: &self.samples[start..],
                values: &mut values,
                tops: &mut tops,
                whole: start + 2 * V::WIDTH <= count,
            });
            if start + 2 * V::WIDTH > count {
                for (half, values) in values.iter().enumerate() {
                    let inside = count.saturating_sub(start + half * V::WIDTH);
                    for value in values {
                        let lanes = V::floats(std::slice::from_ref(value)).iter();
                        peak = lanes.take(inside).fold(peak, |peak, x| peak.max(x.abs()));
                    }
                }
            }
        }
        V::floats(&tops)
            .iter()
            .fold(peak, |peak, x| peak.max(x.abs()))
    }
}

struct SumTask<'a, V> {
    weights: &'a [[f32; PLACES]; TAPS],
    samples: &'a [f32],
    values: &'a mut [[V; PLACES]; 2],
    /// The largest and the smallest value so far.
    tops: &'a mut [V; 2],
    whole: bool,
}

impl<V: Lanes> Task for SumTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        let mut sums = [[V::splat(0.0); PLACES]; 2];
        let (one, two) = (self.samples, &self.samples[V::WIDTH..]);
        for (tap, weights) in self.weights.iter().enumerate() {
            let pair = [V::load(&one[tap..]), V::load(&two[tap..])];
            for (place, weight) in weights.iter().enumerate() {
                let weight = V::splat(*weight);
                for (sums, x) in sums.iter_mut().zip(pair) {
                    sums[place] = x.mul_add(weight, sums[place]);
                }
            }
        }
        if self.whole {
            let [mut top, mut low] = *self.tops;
            for value in sums.as_flattened() {
                top = top.max(*value);
                low = low.min(*value);
            }
            *self.tops = [top, low];
        }
        *self.values = sums;
    }
}

#[cfg(test)]
mod tests {
    use super::super::k_weighting::for_pieces;
    use super::*;
    use crate::audio::Audio;
    use crate::{Quality, Resampler};

    fn true_peak_db(audio: &Audio) -> Result<f64> {
        let mut peak = TruePeak::new(audio.sample_rate, audio.channels.len())?;
        for_pieces(audio, |channels| peak.push(channels));
        Ok(peak.finish())
    }

    fn audio(rate: u32, hertz: f64, phase: f64, samples: usize) -> Audio {
        let tone = (0..samples)
            .map(|n| {
                let turns = hertz * n as f64 / f64::from(rate) + phase;
                (0.5 * (std::f64::consts::TAU * turns).sin()) as f32
            })
            .collect();
        Audio {
            sample_rate: rate,
            channels: vec![tone],
        }
    }

    #[test]
    fn peaks_between_samples_are_found() {
        // A quarter of the rate, an eighth of a turn ahead: every sample is at 0.7071 of the peak.
        for samples in [2000, 100_000] {
            let peak = true_peak_db(&audio(48_000, 12_000.0, 0.125, samples)).unwrap();
            // Tech 3341, case 17 allows +0.2 and −0.4 dB around −6.
            assert!((peak + 6.02).abs() < 0.2, "{peak}");
        }
        let dense = true_peak_db(&audio(192_000, 1000.0, 0.0, 19_200)).unwrap();
        assert!((dense + 6.02).abs() < 0.01);
    }

    #[test]
    fn values_between_samples_are_those_of_a_longer_filter() {
        let dense = Resampler::new(16_000, 64_000, Quality::High).unwrap();
        let mut noise = 1u32;
        for (hertz, samples) in [
            (440.0, 500),
            (3_000.0, 1_270),
            (5_500.0, 5_000),
            (7_200.0, 12_345),
        ] {
            // Silent at both ends, in which longer filters ring longer, and of any level in between.
            let signal: Vec<f32> = (0..samples)
                .map(|n| {
                    noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let share = (n as f64 + 0.5) / samples as f64;
                    let tone = (std::f64::consts::TAU * hertz * n as f64 / 16_000.0).sin();
                    let slow = 0.1 * f64::from(noise >> 20) / 4096.0 * (PI * share * 40.0).sin();
                    ((PI * share).sin().powi(4) * (tone + slow)) as f32
                })
                .collect();
            let expected = dense.process(&signal);
            let expected = expected.iter().fold(0.0f32, |top, x| top.max(x.abs()));
            let found = true_peak_db(&Audio {
                sample_rate: 16_000,
                channels: vec![signal],
            });
            let expected = 20.0 * f64::from(expected).log10();
            let found = found.unwrap();
            assert!(
                (found - expected).abs() < 0.1,
                "{hertz} Hz: {found}, {expected}"
            );
        }
    }

    #[test]
    fn blocks_that_are_not_summed_have_no_peak() {
        let filters = Filters::new();
        let mut noise = 1u32;
        for _ in 0..200 {
            let samples: Vec<f32> = (0..BLOCK + TAPS - 1)
                .map(|_| {
                    noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    // Signs as filters have them give the largest sums.
                    (if noise >> 31 == 0 { 1.0 } else { -1.0 }) * (noise >> 8) as f32 / 8_388_608.0
                })
                .collect();
            let summed = filters.look(&samples, BLOCK, 0.0);
            assert!(summed <= filters.gain * largest(&samples));
            assert_eq!(filters.look(&samples, BLOCK, summed), summed);
        }
        // Weights' own signs: the largest sum that there is.
        let worst: Vec<f32> = (0..BLOCK + TAPS - 1)
            .map(|n| filters.weights.get(n).map_or(0.0, |w| w[1].signum()))
            .collect();
        let summed = filters.look(&worst, 1, 0.0);
        assert!(
            summed <= filters.gain && summed > 0.9 * filters.gain,
            "{summed}"
        );
    }
}
