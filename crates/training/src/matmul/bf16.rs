//! Numbers of sixteen bits with the range of an `f32`: its upper half.

/// A number as networks are trained with it: the sign, the exponent and the first seven bits of an `f32`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Bf16(pub u16);

impl From<f32> for Bf16 {
    /// The nearest, the even one of two; a NaN stays one.
    fn from(value: f32) -> Self {
        let bits = value.to_bits();
        if value.is_nan() {
            // Its payload may lie in the half that goes.
            return Self((bits >> 16) as u16 | 0x40);
        }
        let even = (bits >> 16) & 1;
        Self(((bits + 0x7fff + even) >> 16) as u16)
    }
}

impl From<Bf16> for f32 {
    #[inline(always)]
    fn from(value: Bf16) -> Self {
        Self::from_bits(u32::from(value.0) << 16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_back_and_others_go_to_the_nearest() {
        for bits in 0..=u16::MAX {
            let value = f32::from(Bf16(bits));
            let back = f32::from(Bf16::from(value));
            assert!(back.to_bits() == value.to_bits() || (back.is_nan() && value.is_nan()));
            // Halfway to the next goes to the even one, a little more or less to the nearer.
            if value.is_finite() {
                let half = value.to_bits() + 0x8000;
                let even = bits + (bits & 1);
                assert_eq!(Bf16::from(f32::from_bits(half)).0, even);
                assert_eq!(Bf16::from(f32::from_bits(half - 1)).0, bits);
                assert_eq!(Bf16::from(f32::from_bits(half + 1)).0, bits + 1);
            }
        }
        let quiet = f32::from_bits(0x7f80_0001);
        assert!(f32::from(Bf16::from(quiet)).is_nan());
    }
}
