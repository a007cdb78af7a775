//! Oscillators as functions of a 32-bit phase: a turn is 2³², so that wrapping is free and a phase
//! is as exact after hours as in the first sample.

use serde::{Deserialize, Serialize};

/// How the saw treats its jump.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Saw {
    /// As it is: aliases.
    Naive,
    /// Rounded over one sample to each side by a parabola.
    PolyBlep,
    /// Rounded over two samples to each side by a cubic B-spline.
    #[default]
    Spline,
}

/// A frequency as turns of 2⁶⁴ per sample: the error of 2⁻⁶⁵ turns needs a million years to be heard.
pub fn phase_step(frequency: f64, sample_rate: u32) -> u64 {
    let turns = (frequency / f64::from(sample_rate)).clamp(0.0, 0.5);
    // f64 has 53 bits: the step is exact to 2⁻⁵³ of itself, a nanoradian after an hour.
    (turns * 18_446_744_073_709_551_616.0) as u64
}

/// The constants of sin(π/2·x) on [−1, 1], odd powers from the first: within 3.4e-9 everywhere.
pub(crate) const SINE: [f32; 5] = [
    std::f32::consts::FRAC_PI_2,
    -0.645_963_4,
    0.079_688_48,
    -0.004_672_228,
    0.000_150_820_56,
];

/// sin of a phase. Folded to a quarter turn in integers, where nothing is lost.
#[inline(always)]
pub(crate) fn sine(phase: u32) -> f32 {
    let reflected = (phase.wrapping_add(1 << 30).cast_signed() >> 31).cast_unsigned() & 0x7fff_ffff;
    let quarter = (phase ^ reflected).cast_signed();
    let x = quarter as f32 * (1.0 / 1_073_741_824.0);
    let xx = x * x;
    let mut sum = SINE[4] * xx + SINE[3];
    sum = sum * xx + SINE[2];
    sum = sum * xx + SINE[1];
    sum = sum * xx + SINE[0];
    sum * x
}

/// A saw from −1 to 1 whose jump is at phase zero; `per_sample` is samples per turn.
#[inline(always)]
pub(crate) fn saw<const KIND: u8>(phase: u32, per_sample: f32) -> f32 {
    if KIND == Saw::Naive as u8 {
        return (phase ^ 0x8000_0000).cast_signed() as f32 * (1.0 / 2_147_483_648.0);
    }
    let turn = phase.cast_signed() as f32 * (1.0 / 4_294_967_296.0);
    let samples = turn.abs() * per_sample;
    let missing = if KIND == Saw::PolyBlep as u8 {
        let near = (1.0 - samples).max(0.0);
        near * near
    } else {
        // Twice the tail of a cubic B-spline: [(2−x)₊⁴ − 4(1−x)₊⁴]/12.
        let far = (2.0 - samples).max(0.0);
        let near = (1.0 - samples).max(0.0);
        let (far, near) = (far * far, near * near);
        (far * far - 4.0 * (near * near)) * (1.0 / 12.0)
    };
    2.0 * turn - (1.0 - missing).copysign(turn)
}

/// Samples to each side of the jump that a saw rounds at most.
pub(crate) const ROUNDED: u32 = 2;

/// The same where the jump is further away than what is rounded.
#[inline(always)]
pub(crate) fn saw_between_jumps<const KIND: u8>(phase: u32) -> f32 {
    if KIND == Saw::Naive as u8 {
        return saw::<KIND>(phase, 0.0);
    }
    let turn = phase.cast_signed() as f32 * (1.0 / 4_294_967_296.0);
    2.0 * turn - 1f32.copysign(turn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sine_is_within_four_roundings_of_the_real_one() {
        let worst = (0..200_000u32)
            .map(|i| {
                let phase = i.wrapping_mul(2_654_435_769);
                let angle = f64::from(phase) / 4_294_967_296.0 * std::f64::consts::TAU;
                (f64::from(sine(phase)) - angle.sin()).abs()
            })
            .fold(0.0, f64::max);
        assert!(worst < 2.4e-7, "{worst:e}");
    }

    #[test]
    fn saws_agree_away_from_the_jump_and_only_the_naive_one_jumps() {
        let per_sample = 100.0;
        for phase in (0..u32::MAX - 40_000_000).step_by(40_000_000) {
            let naive = saw::<{ Saw::Naive as u8 }>(phase, per_sample);
            let expected = 2.0 * f64::from(phase) / 4_294_967_296.0 - 1.0;
            assert!((f64::from(naive) - expected).abs() < 1e-6);
            let turn = f64::from(phase.cast_signed()).abs() / 4_294_967_296.0;
            if turn * 100.0 > 2.0 {
                let spline = saw::<{ Saw::Spline as u8 }>(phase, per_sample);
                let blep = saw::<{ Saw::PolyBlep as u8 }>(phase, per_sample);
                assert!((spline - naive).abs() < 1e-6 && (blep - naive).abs() < 1e-6);
            }
        }
        for per_sample in [100.0, 7.5] {
            let step = (4_294_967_296.0 / f64::from(per_sample)) as u32;
            let clear = (ROUNDED + 1) * step;
            for phase in (clear..clear.wrapping_neg()).step_by(999_983) {
                let [spline, blep] = [
                    saw::<{ Saw::Spline as u8 }>(phase, per_sample),
                    saw::<{ Saw::PolyBlep as u8 }>(phase, per_sample),
                ];
                let between = saw_between_jumps::<{ Saw::Spline as u8 }>(phase);
                assert_eq!([spline, blep], [between; 2], "{phase}");
            }
        }
        let around = [u32::MAX - 10, 10];
        let [before, after] = around.map(|p| saw::<{ Saw::Spline as u8 }>(p, per_sample));
        assert!((before - after).abs() < 1e-5);
    }
}
