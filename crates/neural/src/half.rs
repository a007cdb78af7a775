//! Numbers in half precision, as tensor cores take them.

/// The bits of the nearest number of half precision, the even one of two; what is too large is infinite.
pub fn half_bits(value: f32) -> u16 {
    let bits = value.to_bits();
    let (sign, size) = ((bits >> 16) as u16 & 0x8000, bits & 0x7fff_ffff);
    let rounded = |bits: u32, dropped: u32| {
        let (kept, rest) = (bits >> dropped, bits & ((1 << dropped) - 1));
        let half = 1 << (dropped - 1);
        kept + u32::from(rest > half || (rest == half && kept & 1 == 1))
    };
    let magnitude = match size {
        0x7f80_0001.. => 0x7e00,
        // From halfway above the largest on.
        0x477f_f000.. => 0x7c00,
        // The exponents' offsets are 127 and 15.
        0x3880_0000.. => rounded(size - (112 << 23), 13),
        // Multiples of 2⁻²⁴.
        0x3300_0000.. => rounded(size & 0x7f_ffff | 0x80_0000, 126 - (size >> 23)),
        _ => 0,
    };
    sign | magnitude as u16
}

/// What bits of half precision stand for; what is infinite is 65,536.
pub fn half_value(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let size = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 => 65_536.0,
        _ => (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
    };
    if bits >> 15 == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::half_value as value;
    use super::*;

    #[test]
    fn every_number_comes_back_and_others_go_to_the_nearest() {
        for bits in 0..0x7c00u16 {
            assert_eq!(half_bits(value(bits) as f32), bits);
            assert_eq!(half_bits(-value(bits) as f32), bits | 0x8000);
            // Halfway to the next goes to the even one, a little more or less to the nearer.
            let half = (value(bits) + value(bits + 1)) / 2.0;
            assert_eq!(half_bits(half as f32), bits + (bits & 1), "{half}");
            assert_eq!(half_bits((half * (1.0 - 1e-6)) as f32), bits);
            assert_eq!(half_bits((half * (1.0 + 1e-6)) as f32), bits + 1);
        }
        assert_eq!(half_bits(f32::INFINITY), 0x7c00);
        assert_eq!(half_bits(-1e9), 0xfc00);
        assert!(half_bits(f32::NAN) & 0x7fff > 0x7c00);
    }
}
