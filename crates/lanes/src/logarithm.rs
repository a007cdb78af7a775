//! The natural logarithm, lane by lane.

use crate::frames::Lanes;

/// `ln x` for positive normal `x`, within 2 ULP (or 1e-7 absolute near 1).
///
/// With `x = m·2^e`, `m` in `[√½, √2)` and `s = (m−1)/(m+1)`, `|s| ≤ 0.1716`:
/// `ln m = 2·(s + s³/3 + s⁵/5 + …)`. Five terms leave 2·s¹¹/11 ≤ 7e-10, far below an f32 rounding.
#[inline(always)]
pub fn ln<V: Lanes>(x: V) -> V {
    let (mantissa, exponent) = x.split_exponent();
    let one = V::splat(1.0);
    let s = mantissa.sub(one).div(mantissa.add(one));
    let square = s.mul(s);
    let series = V::splat(2.0 / 9.0)
        .mul_add(square, V::splat(2.0 / 7.0))
        .mul_add(square, V::splat(2.0 / 5.0))
        .mul_add(square, V::splat(2.0 / 3.0));
    let tail = series.mul(square).mul(s);
    // ln 2 in two parts: the first has few enough bits that its product with an exponent is exact.
    let high = V::splat(0.693_359_4);
    let low = V::splat(-2.121_944_4e-4);
    let small = low.mul_add(exponent, tail);
    exponent.mul_add(high, V::splat(2.0).mul_add(s, small))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::portable::{One, Scalar};

    fn ln_in<V: Lanes>(x: f32) -> f32 {
        let mut out = [0.0];
        ln(V::splat(x)).store(&mut out);
        out[0]
    }

    #[test]
    fn the_logarithm_is_within_two_ulps_over_the_whole_range() {
        let mut worst = 0.0f64;
        for step in 0..200_000u32 {
            let x = f32::from_bits(0x0080_0000 + step * 10_650);
            let exact = f64::from(x).ln();
            for value in [ln_in::<One>(x), ln_in::<Scalar<f32, true>>(x)] {
                let bound = exact.abs().max(0.5) * f64::from(f32::EPSILON);
                worst = worst.max((f64::from(value) - exact).abs() / bound);
            }
        }
        assert!(worst < 2.0, "{worst} ULP");
    }
}
