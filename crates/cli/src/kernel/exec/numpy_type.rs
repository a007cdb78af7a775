//! NumPy's element types.

use warpsmith_compiler::Scalar;

/// NumPy's name for a scalar type and its width in bytes; it has none for `bfloat16`.
pub(super) fn dtype(scalar: Scalar) -> Option<(&'static str, usize)> {
    Some(match scalar {
        Scalar::Bool => ("|b1", 1),
        Scalar::I8 => ("|i1", 1),
        Scalar::U8 => ("|u1", 1),
        Scalar::I16 => ("<i2", 2),
        Scalar::U16 => ("<u2", 2),
        Scalar::I32 => ("<i4", 4),
        Scalar::U32 => ("<u4", 4),
        Scalar::I64 => ("<i8", 8),
        Scalar::U64 => ("<u8", 8),
        Scalar::F16 => ("<f2", 2),
        Scalar::F32 => ("<f4", 4),
        Scalar::F64 => ("<f8", 8),
        _ => return None,
    })
}
