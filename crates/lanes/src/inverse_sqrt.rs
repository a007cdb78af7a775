//! One over the square root, lane by lane, without a division or a root.

use crate::frames::Lanes;

/// Half the exponent's bias and a half more of it, less what makes the largest error smallest.
pub(crate) const MAGIC: u32 = 0x5f37_5a86;

/// `1/√x` for positive normal `x`, within 3 ULP.
///
/// Halving the bits of a number halves its logarithm, nearly: that guess is good to 3.5 %, and each of
/// Newton's steps squares the error: 2e-3, 5e-6, 4e-11. An instruction's guess would be better, but no
/// two vector widths have the same.
#[inline(always)]
pub fn inverse_sqrt<V: Lanes>(x: V) -> V {
    let half = x.mul(V::splat(0.5));
    let mut y = x.inverse_sqrt_guess();
    for _ in 0..3 {
        y = y.mul(half.neg_mul_add(y.mul(y), V::splat(1.5)));
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::portable::{Eight, One, Scalar};

    fn inverse_sqrt_in<V: Lanes>(x: f32) -> f32 {
        let mut out = [0.0; 8];
        inverse_sqrt(V::splat(x)).store(&mut out);
        out[0]
    }

    #[test]
    fn the_root_is_within_three_ulps_over_the_whole_range() {
        for step in 0..200_000u32 {
            let x = f32::from_bits(0x0080_0000 + step * 10_650);
            let exact = 1.0 / f64::from(x).sqrt();
            let found = [
                inverse_sqrt_in::<One>(x),
                inverse_sqrt_in::<Scalar<f32, true>>(x),
            ];
            for value in found {
                let error = (f64::from(value) / exact - 1.0).abs() / f64::from(f32::EPSILON);
                assert!(error < 3.0, "{x}: {error} ULP");
            }
            assert_eq!(found[0].to_bits(), inverse_sqrt_in::<Eight>(x).to_bits());
        }
    }
}
