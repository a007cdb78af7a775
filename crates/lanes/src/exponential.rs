//! The exponential and the error function without branches or tables, so that loops over them become
//! vector loops.
//!
//! They compute in f64 by multiplications and additions that are never fused: the same bits with
//! every instruction set.

use std::f64::consts::{LN_2, LOG2_E};

/// `1/k!`: where `|r| ≤ ln 2/2`, the terms from `r⁹` on are below 2e-10 of the sum.
const EXPONENTIAL: [f64; 9] = [
    1.0,
    1.0,
    1.0 / 2.0,
    1.0 / 6.0,
    1.0 / 24.0,
    1.0 / 120.0,
    1.0 / 720.0,
    1.0 / 5040.0,
    1.0 / 40320.0,
];

/// Adding it rounds to a whole number, which then stands in the lowest bits: `1.5·2⁵²`.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// `eˣ`, rounded once to f32 but for 2e-10 of its size.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    // Beyond these the result is 0 or infinite in f32; NaN stays NaN.
    let x = f64::from(x).clamp(-104.0, 89.0);
    let shifted = x * LOG2_E + ROUND;
    let rest = x - (shifted - ROUND) * LN_2;
    let power = polynomial(&EXPONENTIAL, rest);
    // The whole number goes from the lowest bits into the exponent.
    f64::from_bits(power.to_bits().wrapping_add(shifted.to_bits() << 52)) as f32
}

/// From here on the error function is 1 in f32.
const END: f64 = 4.0;

/// `erf(x)/x` over `t = x²/8 − 1`, interpolated at the Chebyshev points of `0 ≤ x ≤ 4`: the error is
/// at most 8e-11.
const ERROR_FUNCTION: [f64; 20] = [
    3.535_309_956_195e-1,
    -1.765_762_332_933e-1,
    1.316_751_216_646e-1,
    -1.077_104_441_442e-1,
    9.020_883_714_506e-2,
    -7.472_781_256_976e-2,
    5.988_890_355_433e-2,
    -4.576_578_773_341e-2,
    3.304_775_026_105e-2,
    -2.246_919_990_572e-2,
    1.439_709_195_346e-2,
    -8.622_341_439_548e-3,
    4.747_639_214_631e-3,
    -2.542_221_095_892e-3,
    1.437_215_920_838e-3,
    -6.622_196_113_084e-4,
    1.587_696_227_354e-4,
    -7.775_886_488_546e-5,
    9.725_663_756_259e-5,
    -3.556_680_794_720e-5,
];

/// The error function.
#[inline(always)]
pub fn erf(x: f64) -> f64 {
    let value = x * polynomial(&ERROR_FUNCTION, x * x / 8.0 - 1.0);
    if x.abs() < END {
        value
    } else {
        1.0f64.copysign(x)
    }
}

#[inline(always)]
fn polynomial<const N: usize>(coefficients: &[f64; N], at: f64) -> f64 {
    let mut sum = coefficients[N - 1];
    for coefficient in coefficients[..N - 1].iter().rev() {
        sum = sum * at + coefficient;
    }
    sum
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    /// `2/√π·e^(−x²)·Σ 2ⁿx^(2n+1)/(2n+1)!!`: every term is positive, nothing cancels.
    fn erf_series(x: f64) -> f64 {
        let (mut term, mut sum, mut n) = (x, x, 1.0);
        while term > sum * 1e-18 {
            term *= 2.0 * x * x / (2.0 * n + 1.0);
            sum += term;
            n += 1.0;
        }
        2.0 / PI.sqrt() * (-x * x).exp() * sum
    }

    #[test]
    fn the_error_function_agrees_with_its_series_and_table() {
        // Abramowitz and Stegun, table 7.1.
        for (x, expected) in [
            (0.0, 0.0),
            (0.5, 0.520_499_877_8),
            (1.0, 0.842_700_792_9),
            (2.0, 0.995_322_265_0),
        ] {
            assert!((erf_series(x) - expected).abs() < 1e-10, "{x}");
            assert!((erf(-x) + expected).abs() < 2e-10, "{x}");
        }
        for step in 0..4000 {
            let x = f64::from(step) / 1000.0;
            assert!((erf(x) - erf_series(x)).abs() < 1e-10, "{x}");
        }
        assert_eq!((erf(7.0), erf(f64::NEG_INFINITY)), (1.0, -1.0));
        assert!((0.5 * f64::NAN * (1.0 + erf(f64::NAN))).is_nan());
    }

    #[test]
    fn the_exponential_is_within_one_rounding_of_the_library_s() {
        for step in -104_000..=89_000 {
            let x = step as f32 / 1000.0;
            let (ours, exact) = (exp(x), (f64::from(x)).exp() as f32);
            let apart = ours.to_bits().abs_diff(exact.to_bits());
            assert!(apart <= 1, "{x}: {ours} {exact}");
        }
        assert_eq!((exp(0.0), exp(1e30), exp(-1e30)), (1.0, f32::INFINITY, 0.0));
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
        assert!(exp(f32::NAN).is_nan());
    }
}
