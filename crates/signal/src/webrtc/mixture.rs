//! A band's two hypotheses, noise and speech, each a mixture of two Gaussians that learns from the
//! frames decided for it.

use super::minimum::RunningMinimum;
use super::tables::{BandTable, Gaussian};

/// Least standard deviation, Q7.
const LEAST_DEVIATION: i16 = 384;
/// One, Q14.
const ONE: i16 = 16_384;

/// The state of a band.
#[derive(Clone, Debug)]
pub(super) struct Mixture {
    noise: [Gaussian; 2],
    speech: [Gaussian; 2],
    minimum: RunningMinimum,
}

/// How a level fits a hypothesis.
#[derive(Clone, Copy, Debug)]
struct Fit {
    /// Leading zeros of the likelihood: a logarithm, upside down.
    zeros: i32,
    /// Each Gaussian's share of the likelihood, Q14.
    shares: [i16; 2],
    /// Each Gaussian's `(x − mean) / deviation²`, Q11.
    slopes: [i16; 2],
}

/// What a band says of a frame; kept until all bands have been asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opinion {
    /// Logarithm to base 2 of speech over noise, in whole steps.
    pub(super) log_ratio: i32,
    noise: Fit,
    speech: Fit,
}

impl Mixture {
    pub(super) fn new(table: &BandTable) -> Self {
        Self {
            noise: table.noise,
            speech: table.speech,
            minimum: RunningMinimum::new(),
        }
    }

    /// The likelihoods of `level`, Q4.
    #[inline(always)]
    pub(super) fn judge(&self, level: i16) -> Opinion {
        // Without any likelihood of noise its first Gaussian learns; without any of speech, none.
        let noise = fit(&self.noise, level, [ONE, 0]);
        let speech = fit(&self.speech, level, [0, 0]);
        Opinion {
            log_ratio: noise.zeros - speech.zeros,
            noise,
            speech,
        }
    }

    /// Moves the model towards a frame that all bands together took for `speech` or noise.
    /// `ceiling` bounds the speech means, Q7.
    #[inline(always)]
    pub(super) fn learn(
        &mut self,
        table: &BandTable,
        band: i16,
        level: i16,
        opinion: &Opinion,
        speech: bool,
        (frames, ceiling): (i32, i16),
    ) {
        let minimum = self.minimum.update(level, frames);
        let correction = (minimum << 4).wrapping_sub((weighted(&self.noise) >> 6) as i16);
        for k in 0..2 {
            let before = self.noise[k];
            let mut mean = before.mean;
            if !speech {
                let step = scaled(opinion.noise.shares[k], opinion.noise.slopes[k], 11);
                mean = mean.wrapping_add(scaled(step, 655, 22));
                self.noise[k].deviation = noise_deviation(&before, level, &opinion.noise, k);
            }
            mean = mean.wrapping_add(scaled(correction, 154, 9));
            let k16 = k as i16;
            self.noise[k].mean = mean.max((k16 + 5) << 7).min((72 + k16 - band) << 7);
            if speech {
                self.speech[k] = speech_step(&self.speech[k], level, &opinion.speech, k, ceiling);
            }
        }
        self.keep_apart(table);
    }

    /// Keeps the hypotheses apart and below their limits.
    #[inline(always)]
    fn keep_apart(&mut self, table: &BandTable) {
        let (noise, speech) = (weighted(&self.noise), weighted(&self.speech));
        let distance = ((speech >> 9) as i16).wrapping_sub((noise >> 9) as i16);
        if distance < table.separation {
            let missing = table.separation - distance;
            shift(&mut self.speech, scaled(13, missing, 2));
            shift(&mut self.noise, -scaled(3, missing, 2));
        }
        let surplus = |pair: &[Gaussian; 2], limit: i16| ((weighted(pair) >> 7) as i16) - limit;
        let speech = surplus(&self.speech, table.highest_speech);
        if speech > 0 {
            shift(&mut self.speech, -speech);
        }
        let noise = surplus(&self.noise, table.highest_noise);
        if noise > 0 {
            shift(&mut self.noise, -noise);
        }
    }
}

/// `a·b` without its last `bits` bits.
#[inline(always)]
fn scaled(a: i16, b: i16, bits: u32) -> i16 {
    ((i32::from(a) * i32::from(b)) >> bits) as i16
}

/// The mixture's mean, Q14.
#[inline(always)]
fn weighted(pair: &[Gaussian; 2]) -> i32 {
    pair.iter()
        .map(|one| i32::from(one.mean) * i32::from(one.weight))
        .sum()
}

#[inline(always)]
fn shift(pair: &mut [Gaussian; 2], by: i16) {
    for one in pair {
        one.mean = one.mean.wrapping_add(by);
    }
}

#[inline(always)]
fn fit(pair: &[Gaussian; 2], level: i16, unlikely: [i16; 2]) -> Fit {
    let (first, first_slope) = density(&pair[0], level);
    let (second, second_slope) = density(&pair[1], level);
    let first = i32::from(pair[0].weight) * first;
    let sum = first + i32::from(pair[1].weight) * second;
    let rough = (sum >> 12) as i16;
    let shares = if rough > 0 {
        let share = (((first & !0xfff) << 2) / i32::from(rough)) as i16;
        [share, ONE - share]
    } else {
        unlikely
    };
    Fit {
        zeros: if sum == 0 {
            31
        } else {
            sum.leading_zeros() as i32 - 1
        },
        shares,
        slopes: [first_slope, second_slope],
    }
}

/// The density at `level` (Q4) without its constant factor, Q20, and `(x − mean) / deviation²`, Q11.
#[inline(always)]
fn density(gaussian: &Gaussian, level: i16) -> (i32, i16) {
    let deviation = i32::from(gaussian.deviation);
    let inverse = (((1 << 17) + (deviation >> 1)) / deviation) as i16;
    let rough = inverse >> 2;
    let distance = (level << 3).wrapping_sub(gaussian.mean);
    let slope = scaled(scaled(rough, rough, 2), distance, 10);
    let exponent = (i32::from(slope) * i32::from(distance)) >> 9;
    // Beyond, the power of two below is zero in ten bits.
    if exponent >= 22_005 {
        return (0, slope);
    }
    // 2^(−exponent·log2 e): the fraction's bits stand for its power, whole steps are shifts.
    let power = -i32::from(scaled(5909, exponent as i16, 12));
    let value = (0x400 | (power & 0x3ff)) >> ((!power >> 10) + 1);
    (i32::from(inverse) * value, slope)
}

/// A division that rounds the magnitude down.
#[inline(always)]
fn quotient(numerator: i32, denominator: i16) -> i16 {
    let size = (numerator.wrapping_abs() / i32::from(denominator)) as i16;
    if numerator > 0 {
        size
    } else {
        size.wrapping_neg()
    }
}

/// The deviation of a noise Gaussian after a frame of noise.
#[inline(always)]
fn noise_deviation(before: &Gaussian, level: i16, fit: &Fit, k: usize) -> i16 {
    let distance = level.wrapping_sub(before.mean >> 3);
    let surplus = ((i32::from(fit.slopes[k]) * i32::from(distance)) >> 3) - 4096;
    let share = i32::from((fit.shares[k] + 2) >> 2);
    let step = quotient(share.wrapping_mul(surplus) >> 14, before.deviation);
    (before.deviation + (step.wrapping_add(32) >> 6)).max(LEAST_DEVIATION)
}

/// A speech Gaussian after a frame of speech.
#[inline(always)]
fn speech_step(before: &Gaussian, level: i16, fit: &Fit, k: usize, ceiling: i16) -> Gaussian {
    let step = scaled(scaled(fit.shares[k], fit.slopes[k], 11), 6554, 21);
    let lowest = [640, 768][k];
    let mean = before.mean.wrapping_add((step + 1) >> 1);
    let distance = level.wrapping_sub((before.mean + 4) >> 3);
    let surplus = ((i32::from(fit.slopes[k]) * i32::from(distance)) >> 3) - 4096;
    let share = i32::from(fit.shares[k] >> 2);
    let widening = quotient(
        share.wrapping_mul(surplus) >> 4,
        before.deviation.wrapping_mul(10),
    );
    let deviation = before.deviation + (widening.wrapping_add(128) >> 8);
    Gaussian {
        weight: before.weight,
        mean: mean.max(lowest).min(ceiling),
        deviation: deviation.max(LEAST_DEVIATION),
    }
}
