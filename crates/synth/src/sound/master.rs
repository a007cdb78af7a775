//! The end of the chain: a soft limit and 16-bit samples.

use super::swell::ROUNDER;
use crate::note::Formulas;
use warpsmith_lanes::Task;

/// What the sum of all voices is multiplied by before the limit.
pub(crate) const MASTER_GAIN: f32 = 0.7;

/// 2^x on [−½, ½]: within 1.9e-9.
pub(crate) const EXP2: [f32; 7] = [
    1.0,
    std::f32::consts::LN_2,
    0.240_226_47,
    0.055_503_29,
    0.009_618_489,
    0.001_339_993_1,
    0.000_153_458_12,
];

/// tanh, within 2e-7 of the real one.
#[inline(always)]
pub(crate) fn tanh(x: f32) -> f32 {
    // exp(−2|x|) as 2^z; below 2^−60 it no longer shows beside one.
    let z = (x.abs() * (-2.0 * std::f32::consts::LOG2_E)).max(-60.0);
    let rounded = z + ROUNDER;
    let whole = rounded - ROUNDER;
    let f = z - whole;
    let mut sum = EXP2[6] * f + EXP2[5];
    sum = sum * f + EXP2[4];
    sum = sum * f + EXP2[3];
    sum = sum * f + EXP2[2];
    sum = sum * f + EXP2[1];
    sum = sum * f + EXP2[0];
    let exponent = rounded
        .to_bits()
        .wrapping_sub(ROUNDER.to_bits())
        .wrapping_add(127);
    let e = sum * f32::from_bits(exponent << 23);
    ((1.0 - e) / (1.0 + e)).copysign(x)
}

/// A sample in [−1, 1] as 16 bits: to the nearest, or towards zero as the first engine does.
#[inline(always)]
pub(crate) fn pcm16<const TRUNCATE: bool>(value: f32) -> i16 {
    let scaled = value * 32_767.0;
    if TRUNCATE {
        // Saturates; a NaN becomes silence.
        scaled as i16
    } else {
        let scaled = scaled.clamp(-32_767.0, 32_767.0);
        (scaled + ROUNDER).to_bits().wrapping_sub(ROUNDER.to_bits()) as i16
    }
}

/// 16-bit samples of a block.
pub fn to_pcm16(samples: &[f32], out: &mut [i16], formulas: Formulas) {
    for (out, sample) in out.iter_mut().zip(samples) {
        *out = match formulas {
            Formulas::Original => pcm16::<true>(*sample),
            Formulas::ClickFree => pcm16::<false>(*sample),
        };
    }
}

/// Limits a channel in place.
pub(crate) struct Limit<'a>(pub(crate) &'a mut [f32]);

impl Task for Limit<'_> {
    #[inline(always)]
    fn run(self) {
        for value in self.0 {
            *value = tanh(*value * MASTER_GAIN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tanh_is_close_everywhere_and_exact_at_zero() {
        let worst = (-200_000..200_000)
            .map(|i| {
                let x = i as f32 / 10_000.0;
                (f64::from(tanh(x)) - f64::from(x).tanh()).abs()
            })
            .fold(0.0, f64::max);
        assert!(worst < 2e-7, "{worst:e}");
        assert_eq!(tanh(0.0), 0.0);
        assert_eq!((tanh(1e30), tanh(-1e30)), (1.0, -1.0));
    }

    #[test]
    fn sixteen_bits_reach_both_ends_and_never_wrap() {
        assert_eq!(pcm16::<false>(1.0), 32_767);
        assert_eq!(pcm16::<false>(-1.0), -32_767);
        assert_eq!(pcm16::<false>(9.0), 32_767);
        assert_eq!(pcm16::<true>(0.999_98), 32_766);
        assert_eq!(pcm16::<false>(0.5 / 32_767.0 + 1e-6), 1);
        assert_eq!(pcm16::<true>(f32::NAN), 0);
    }
}
