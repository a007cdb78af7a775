//! Numbers of every type that an array can hold, as bytes and back.

use serde_json::{Value, json};
use warpsmith_interpreter::{bfloat16_to_f32, f32_to_bfloat16, f32_to_half, half_to_f32};
use warpsmith_measure::kernel_file::Scalar;

/// Whether it is a floating-point type.
pub(crate) fn is_float(scalar: Scalar) -> bool {
    matches!(
        scalar,
        Scalar::F16 | Scalar::Bf16 | Scalar::F32 | Scalar::F64
    )
}

/// The distance from 1 to the next number; 0 for whole numbers.
pub(crate) fn epsilon(scalar: Scalar) -> f64 {
    match scalar {
        Scalar::F64 => f64::EPSILON,
        Scalar::F32 => f64::from(f32::EPSILON),
        Scalar::F16 => 2f64.powi(-10),
        Scalar::Bf16 => 2f64.powi(-7),
        _ => 0.0,
    }
}

/// The smallest normal number; 0 for whole numbers.
pub(crate) fn smallest_normal(scalar: Scalar) -> f64 {
    match scalar {
        Scalar::F64 => f64::MIN_POSITIVE,
        Scalar::F32 | Scalar::Bf16 => f64::from(f32::MIN_POSITIVE),
        Scalar::F16 => 2f64.powi(-14),
        _ => 0.0,
    }
}

/// Writes the nearest number of this type into its bytes.
pub(crate) fn put_float(scalar: Scalar, value: f64, slot: &mut [u8]) {
    match scalar {
        Scalar::F64 => slot.copy_from_slice(&value.to_le_bytes()),
        Scalar::F32 => slot.copy_from_slice(&(value as f32).to_le_bytes()),
        Scalar::F16 => slot.copy_from_slice(&f32_to_half(value as f32).to_le_bytes()),
        Scalar::Bf16 => slot.copy_from_slice(&f32_to_bfloat16(value as f32).to_le_bytes()),
        _ => put_whole(scalar, value as i64, slot),
    }
}

/// Writes a whole number into its bytes; what does not fit wraps around, as C does.
pub(crate) fn put_whole(scalar: Scalar, value: i64, slot: &mut [u8]) {
    match is_float(scalar) {
        true => put_float(scalar, value as f64, slot),
        false => slot.copy_from_slice(&value.to_le_bytes()[..scalar.bytes()]),
    }
}

/// A number of this type in JSON: without a point where the type has whole numbers alone.
pub(crate) fn json_number(scalar: Scalar, value: f64) -> Value {
    match value.fract() == 0.0 && !is_float(scalar) {
        true => json!(value as i64),
        false => json!(value),
    }
}

/// Appends the nearest number of this type.
pub(crate) fn push_float(scalar: Scalar, value: f64, bytes: &mut Vec<u8>) {
    let at = bytes.len();
    bytes.resize(at + scalar.bytes(), 0);
    put_float(scalar, value, &mut bytes[at..]);
}

/// Appends a whole number; what does not fit wraps around, as C does.
pub(crate) fn push_whole(scalar: Scalar, value: i64, bytes: &mut Vec<u8>) {
    let at = bytes.len();
    bytes.resize(at + scalar.bytes(), 0);
    put_whole(scalar, value, &mut bytes[at..]);
}

/// Whether a whole number has a form in this type.
pub(crate) fn holds_whole(scalar: Scalar, value: i64) -> bool {
    let bits = scalar.bytes() as u32 * 8;
    match scalar {
        Scalar::I8 | Scalar::I16 | Scalar::I32 => {
            (-(1i64 << (bits - 1))..1i64 << (bits - 1)).contains(&value)
        }
        Scalar::U8 | Scalar::U16 | Scalar::U32 => (0..1i64 << bits).contains(&value),
        Scalar::U64 => value >= 0,
        _ => true,
    }
}

/// The number at an index.
pub(crate) fn float_at(scalar: Scalar, bytes: &[u8], index: usize) -> f64 {
    let at = index * scalar.bytes();
    let take = |count: usize| {
        let mut word = [0u8; 8];
        if let Some(part) = bytes.get(at..at + count) {
            word[..count].copy_from_slice(part);
        }
        word
    };
    let bits = u64::from_le_bytes(take(scalar.bytes()));
    match scalar {
        Scalar::F64 => f64::from_bits(bits),
        Scalar::F32 => f64::from(f32::from_bits(bits as u32)),
        Scalar::F16 => f64::from(half_to_f32(bits as u16)),
        Scalar::Bf16 => f64::from(bfloat16_to_f32(bits as u16)),
        Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64 => bits as f64,
        Scalar::I8 => f64::from(bits as u8 as i8),
        Scalar::I16 => f64::from(bits as u16 as i16),
        Scalar::I32 => f64::from(bits as u32 as i32),
        Scalar::I64 => bits as i64 as f64,
    }
}

/// How many numbers of this type lie between the one at an index and the one nearest to `expected`.
pub(crate) fn ulps_from(scalar: Scalar, bytes: &[u8], index: usize, expected: f64) -> Option<u64> {
    let actual = float_at(scalar, bytes, index);
    if actual.is_nan() || expected.is_nan() {
        return None;
    }
    let mut nearest = Vec::new();
    push_float(scalar, expected, &mut nearest);
    let at = index * scalar.bytes();
    let rising = |word: &[u8]| -> Option<i128> {
        let mut wide = [0u8; 8];
        wide[..word.len()].copy_from_slice(word);
        let bits = u64::from_le_bytes(wide);
        let width = word.len() as u32 * 8;
        let sign = 1u64 << (width - 1);
        Some(match is_float(scalar) {
            // Maps bit patterns to integers that rise with the value.
            true if bits & sign != 0 => -i128::from(bits & !sign),
            true => i128::from(bits),
            false => float_at(scalar, word, 0) as i128,
        })
    };
    let (a, b) = (
        rising(bytes.get(at..at + scalar.bytes())?)?,
        rising(&nearest)?,
    );
    u64::try_from((a - b).abs()).ok()
}

/// NumPy's name of a type, and whether it has that type; `bf16` travels as `f32`.
pub(crate) fn numpy_name(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::U8 => "|u1",
        Scalar::I8 => "|i1",
        Scalar::U16 => "<u2",
        Scalar::I16 => "<i2",
        Scalar::U32 => "<u4",
        Scalar::I32 => "<i4",
        Scalar::U64 => "<u8",
        Scalar::I64 => "<i8",
        Scalar::F16 => "<f2",
        Scalar::F32 | Scalar::Bf16 => "<f4",
        Scalar::F64 => "<f8",
    }
}

/// The bytes that NumPy sees: `bf16` widened to `f32`, everything else as it is.
pub(crate) fn numpy_bytes(scalar: Scalar, bytes: &[u8]) -> Vec<u8> {
    match scalar {
        Scalar::Bf16 => (0..bytes.len() / 2)
            .flat_map(|index| (float_at(scalar, bytes, index) as f32).to_le_bytes())
            .collect(),
        _ => bytes.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_distances_are_counted() {
        for scalar in [
            Scalar::F16,
            Scalar::Bf16,
            Scalar::F32,
            Scalar::F64,
            Scalar::I8,
            Scalar::U64,
        ] {
            let mut bytes = Vec::new();
            for value in [1.0, 2.0, 100.0] {
                push_float(scalar, value, &mut bytes);
            }
            assert_eq!(float_at(scalar, &bytes, 2), 100.0, "{scalar:?}");
            assert_eq!(ulps_from(scalar, &bytes, 0, 1.0), Some(0), "{scalar:?}");
        }
        let mut bytes = Vec::new();
        push_float(
            Scalar::F32,
            f64::from(1.0f32.next_up().next_up()),
            &mut bytes,
        );
        push_whole(Scalar::I32, -5, &mut bytes);
        assert_eq!(ulps_from(Scalar::F32, &bytes, 0, 1.0), Some(2));
        assert_eq!(float_at(Scalar::I32, &bytes, 1), -5.0);
        assert_eq!(
            ulps_from(Scalar::F32, &(-1e-45f32).to_le_bytes(), 0, 1e-45),
            Some(2)
        );
        assert!(holds_whole(Scalar::I8, -128) && !holds_whole(Scalar::I8, 128));
        assert!(!holds_whole(Scalar::U32, -1) && holds_whole(Scalar::I64, i64::MIN));
    }
}
