//! Rounding a Python number to a scalar type, as storing it in a vector of that type does.

use warpsmith_ir::Number;
use warpsmith_ir::types::Scalar;

/// The number that a component of type `scalar` holds after `value` is stored in it; `None` where
/// Python refuses the store.
pub(crate) fn round_to(scalar: Scalar, value: Number) -> Option<Number> {
    if scalar.is_float() {
        let value = match value {
            Number::Float(value) => value,
            Number::Int(value) => value as f64,
        };
        return Some(Number::Float(match scalar {
            Scalar::F64 => value,
            Scalar::F32 => f64::from(value as f32),
            Scalar::BF16 => f64::from(round_bfloat16(value as f32)),
            _ => f64::from(round_half(value as f32)),
        }));
    }
    let Number::Int(value) = value else {
        return None;
    };
    Some(Number::Int(match scalar {
        Scalar::Bool => i128::from(value != 0),
        Scalar::I8 => i128::from(value as i8),
        Scalar::I16 => i128::from(value as i16),
        Scalar::I32 => i128::from(value as i32),
        Scalar::I64 => i128::from(value as i64),
        Scalar::U8 => i128::from(value as u8),
        Scalar::U16 => i128::from(value as u16),
        Scalar::U32 => i128::from(value as u32),
        Scalar::U64 => i128::from(value as u64),
        _ => return None,
    }))
}

/// Round to nearest, ties to even, on the 16 bits that are dropped.
fn round_bfloat16(value: f32) -> f32 {
    if !value.is_finite() {
        return value;
    }
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1));
    f32::from_bits(rounded & 0xffff_0000)
}

/// Round to nearest, ties to even, with half precision's range and subnormals.
fn round_half(value: f32) -> f32 {
    let magnitude = value.abs();
    if !value.is_finite() {
        return value;
    }
    if magnitude >= 65520.0 {
        return f32::INFINITY.copysign(value);
    }
    // The spacing of half-precision numbers at this magnitude: 10 bits below the leading one, and never
    // less than the subnormal spacing. Adding and taking away a number that much larger rounds.
    let exponent = if magnitude < 6.103_515_6e-5 {
        -14
    } else {
        exponent_of(magnitude)
    };
    let spacing = f64::from(exponent - 10).exp2();
    let steps = f64::from(magnitude) / spacing;
    let floor = steps.floor();
    let rounded = match (steps - floor).partial_cmp(&0.5) {
        Some(std::cmp::Ordering::Greater) => floor + 1.0,
        Some(std::cmp::Ordering::Equal) => floor + floor % 2.0,
        _ => floor,
    };
    ((rounded * spacing) as f32).copysign(value)
}

fn exponent_of(magnitude: f32) -> i32 {
    ((magnitude.to_bits() >> 23) & 0xff) as i32 - 127
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half(value: f64) -> f64 {
        match round_to(Scalar::F16, Number::Float(value)) {
            Some(Number::Float(value)) => value,
            _ => f64::NAN,
        }
    }

    #[test]
    fn half_precision_rounds_to_nearest_even() {
        assert_eq!(half(0.1), 0.099_975_585_937_5);
        assert_eq!(half(2049.0), 2048.0);
        assert_eq!(half(2051.0), 2052.0);
        assert_eq!(half(1e6), f64::INFINITY);
        assert_eq!(half(5.960_464_477_539_063e-8), 5.960_464_477_539_063e-8);
        assert_eq!(half(2.9e-8), 0.0);
    }

    #[test]
    fn integers_wrap_and_floats_do_not_become_integers() {
        assert_eq!(
            round_to(Scalar::U8, Number::Int(300)),
            Some(Number::Int(44))
        );
        assert_eq!(
            round_to(Scalar::I8, Number::Int(200)),
            Some(Number::Int(-56))
        );
        assert_eq!(round_to(Scalar::I32, Number::Float(1.0)), None);
    }
}
