//! 16-bit floating point: held in `f32`, rounded to nearest even after each operation.

/// A half-precision number.
#[inline]
pub fn half_to_f32(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let exponent = u32::from(bits >> 10) & 31;
    let mantissa = u32::from(bits & 0x3ff);
    let magnitude = match exponent {
        // 2^-24 is the last place of a subnormal half.
        0 => (mantissa as f32 * 5.960_464_5e-8).to_bits(),
        31 => 0x7f80_0000 | mantissa << 13,
        _ => (exponent + 112) << 23 | mantissa << 13,
    };
    f32::from_bits(sign | magnitude)
}

/// The nearest half-precision number's bits.
#[inline]
pub fn f32_to_half(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        return sign | 0x7e00;
    }
    if magnitude >= 0x477f_f000 {
        return sign | 0x7c00;
    }
    if magnitude < 0x3880_0000 {
        // Below the smallest normal half: adding 0.5 puts the half's last place at the float's.
        let shifted = f32::from_bits(magnitude) + 0.5;
        return sign | (shifted.to_bits() - 0x3f00_0000) as u16;
    }
    let rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
    sign | ((rounded - 0x3800_0000) >> 13) as u16
}

/// The nearest bfloat16's bits: the upper half of a float.
#[inline]
pub fn f32_to_bfloat16(value: f32) -> u16 {
    if value.is_nan() {
        return 0x7fff;
    }
    let bits = value.to_bits();
    ((u64::from(bits) + 0x7fff + u64::from((bits >> 16) & 1)) >> 16) as u16
}

/// A bfloat16.
#[inline]
pub fn bfloat16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// Rounds to what a half can hold: what [`f32_to_half`] and [`half_to_f32`] make of a number, in 32-bit
/// steps without a branch, so that lanes are rounded together.
#[inline(always)]
pub fn round_half(value: f32) -> f32 {
    let bits = value.to_bits();
    let sign = bits & 0x8000_0000;
    let magnitude = bits & 0x7fff_ffff;
    let normal = (magnitude + 0xfff + ((magnitude >> 13) & 1)) & !0x1fff;
    // Below the smallest normal half: adding 0.5 puts the half's last place at the float's.
    let subnormal = ((f32::from_bits(magnitude) + 0.5) - 0.5).to_bits();
    let finite = if magnitude < 0x3880_0000 {
        subnormal
    } else {
        normal
    };
    let number = if magnitude < 0x477f_f000 {
        finite
    } else {
        0x7f80_0000
    };
    let rounded = if magnitude > 0x7f80_0000 {
        0x7fc0_0000
    } else {
        number
    };
    f32::from_bits(sign | rounded)
}

/// Rounds to what a bfloat16 can hold.
#[inline]
pub fn round_bfloat16(value: f32) -> f32 {
    bfloat16_to_f32(f32_to_bfloat16(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_a_round_trip() {
        for bits in 0..=u16::MAX {
            let value = half_to_f32(bits);
            if !value.is_nan() {
                assert_eq!(f32_to_half(value), bits);
            }
        }
    }

    #[test]
    fn rounding_is_a_conversion_there_and_back() {
        // Every exponent and both signs, with steps that meet all low bits; and what lies beside halves.
        let steps = (0..=u32::MAX).step_by(4099);
        let beside = (0..=u16::MAX).flat_map(|half| {
            let bits = half_to_f32(half).to_bits();
            [0x0fff, 0x1000, 0x1001].map(|past| bits.wrapping_add(past))
        });
        for bits in steps.chain(beside) {
            let value = f32::from_bits(bits);
            let converted = half_to_f32(f32_to_half(value));
            assert_eq!(round_half(value).to_bits(), converted.to_bits(), "{bits:x}");
        }
    }

    #[test]
    fn ties_go_to_the_even_neighbour() {
        assert_eq!(round_half(2049.0), 2048.0);
        assert_eq!(round_half(2051.0), 2052.0);
        assert_eq!(round_half(65520.0), f32::INFINITY);
        assert_eq!(round_bfloat16(257.0), 256.0);
        assert_eq!(round_bfloat16(259.0), 260.0);
    }
}
