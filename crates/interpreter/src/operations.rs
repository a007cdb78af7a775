//! What each operation does to one scalar, for the interpreter and for the native code alike.
//!
//! A [`Visitor`] is shown the function that an operation on a type is: the interpreter runs it over its
//! lanes, the native code compiles it for an instruction set. Both therefore compute the same bits.
//!
//! Invariant: no input panics. Integer arithmetic wraps as two's complement; a zero divisor of an
//! integer gives zero.

use super::instruction::{Binary, Class, Unary};
use super::lanes::Word;
use super::special;
use warpsmith_ir::Comparison;
use warpsmith_ir::half::{round_bfloat16, round_half};
use warpsmith_ir::types::Scalar;

/// Receives the function of one scalar, or of two, that an operation is. None captures anything.
pub(super) trait Visitor: Sized {
    type Output;

    /// So cheap that lanes that are not active may compute it too.
    fn cheap1<T: Word, U: Word>(self, f: impl Fn(T) -> U + Copy + 'static) -> Self::Output;
    fn cheap2<T: Word, U: Word>(self, f: impl Fn(T, T) -> U + Copy + 'static) -> Self::Output;
    /// For the active lanes alone.
    fn costly1<T: Word, U: Word>(self, f: impl Fn(T) -> U + Copy + 'static) -> Self::Output;
    fn costly2<T: Word, U: Word>(self, f: impl Fn(T, T) -> U + Copy + 'static) -> Self::Output;
    /// The front end never asks for this operation on this type.
    fn nothing(self) -> Self::Output;
}

macro_rules! float_operations {
    ($binary:ident, $unary:ident, $classify:ident, $t:ty) => {
        #[inline(always)]
        fn $binary<V: Visitor>(
            v: V,
            op: Binary,
            round: impl Fn($t) -> $t + Copy + 'static,
        ) -> V::Output {
            match op {
                Binary::Add => v.cheap2::<$t, $t>(move |a, b| round(a + b)),
                Binary::Sub => v.cheap2::<$t, $t>(move |a, b| round(a - b)),
                Binary::Mul => v.cheap2::<$t, $t>(move |a, b| round(a * b)),
                Binary::Div => v.cheap2::<$t, $t>(move |a, b| round(a / b)),
                Binary::FloorDiv => v.cheap2::<$t, $t>(move |a, b| round((a / b).floor())),
                Binary::Mod => v.costly2::<$t, $t>(move |a, b| round(a % b)),
                Binary::Min => v.cheap2::<$t, $t>(<$t>::min),
                Binary::Max => v.cheap2::<$t, $t>(<$t>::max),
                Binary::Pow => v.costly2::<$t, $t>(move |a, b| round(a.powf(b))),
                Binary::Atan2 => v.costly2::<$t, $t>(move |a, b| round(a.atan2(b))),
                Binary::CopySign => v.cheap2::<$t, $t>(<$t>::copysign),
                // The front end gives these to integers only.
                Binary::And | Binary::Or | Binary::Xor | Binary::Shl | Binary::Shr => v.nothing(),
            }
        }

        #[inline(always)]
        fn $unary<V: Visitor>(
            v: V,
            op: Unary,
            round: impl Fn($t) -> $t + Copy + 'static,
        ) -> V::Output {
            match op {
                Unary::Neg => v.cheap1::<$t, $t>(|x| -x),
                Unary::Abs => v.cheap1::<$t, $t>(<$t>::abs),
                Unary::Sign => v.cheap1::<$t, $t>(|x| if x < 0.0 { -1.0 } else { 1.0 }),
                Unary::Step => v.cheap1::<$t, $t>(|x| if x < 0.0 { 1.0 } else { 0.0 }),
                Unary::NonZero => v.cheap1::<$t, $t>(|x| if x == 0.0 { 0.0 } else { 1.0 }),
                Unary::Sqrt | Unary::Length => v.cheap1::<$t, $t>(move |x| round(x.sqrt())),
                Unary::Cbrt => v.costly1::<$t, $t>(move |x| round(x.cbrt())),
                Unary::Sin => v.costly1::<$t, $t>(move |x| round(x.sin())),
                Unary::Cos => v.costly1::<$t, $t>(move |x| round(x.cos())),
                Unary::Tan => v.costly1::<$t, $t>(move |x| round(x.tan())),
                // Rounding noise beyond 1 is forgiven.
                Unary::Asin => v.costly1::<$t, $t>(move |x| round(x.max(-1.0).min(1.0).asin())),
                Unary::Acos => v.costly1::<$t, $t>(move |x| round(x.max(-1.0).min(1.0).acos())),
                Unary::Atan => v.costly1::<$t, $t>(move |x| round(x.atan())),
                Unary::Sinh => v.costly1::<$t, $t>(move |x| round(x.sinh())),
                Unary::Cosh => v.costly1::<$t, $t>(move |x| round(x.cosh())),
                Unary::Tanh => v.costly1::<$t, $t>(move |x| round(x.tanh())),
                Unary::Exp => v.costly1::<$t, $t>(move |x| round(x.exp())),
                Unary::Log => v.costly1::<$t, $t>(move |x| round(x.ln())),
                Unary::Log2 => v.costly1::<$t, $t>(move |x| round(x.log2())),
                Unary::Log10 => v.costly1::<$t, $t>(move |x| round(x.log10())),
                Unary::Erf => v.costly1::<$t, $t>(move |x| round(libm::erf(f64::from(x)) as $t)),
                Unary::Erfc => v.costly1::<$t, $t>(move |x| round(libm::erfc(f64::from(x)) as $t)),
                Unary::ErfInv => {
                    v.costly1::<$t, $t>(move |x| round(special::erfinv(f64::from(x)) as $t))
                }
                Unary::ErfcInv => {
                    v.costly1::<$t, $t>(move |x| round(special::erfcinv(f64::from(x)) as $t))
                }
                Unary::Floor => v.cheap1::<$t, $t>(<$t>::floor),
                Unary::Ceil => v.cheap1::<$t, $t>(<$t>::ceil),
                Unary::Round => v.costly1::<$t, $t>(move |x| round(x.round())),
                Unary::Rint => v.cheap1::<$t, $t>(<$t>::round_ties_even),
                Unary::Trunc => v.cheap1::<$t, $t>(<$t>::trunc),
                Unary::Frac => v.cheap1::<$t, $t>(move |x| round(x - x.trunc())),
                // The front end gives these to integers only.
                Unary::Invert | Unary::BitCount | Unary::Pcg => v.nothing(),
            }
        }

        #[inline(always)]
        fn $classify<V: Visitor>(v: V, class: Class) -> V::Output {
            match class {
                Class::Nan => v.cheap1::<$t, i32>(|x| i32::from(x.is_nan())),
                Class::Inf => v.cheap1::<$t, i32>(|x| i32::from(x.is_infinite())),
                Class::Finite => v.cheap1::<$t, i32>(|x| i32::from(x.is_finite())),
            }
        }
    };
}
float_operations!(binary_f32, unary_f32, classify_f32, f32);
float_operations!(binary_f64, unary_f64, classify_f64, f64);

macro_rules! integer_operations {
    ($binary:ident, $unary:ident, $t:ty) => {
        #[inline(always)]
        fn $binary<V: Visitor>(
            v: V,
            op: Binary,
            wrap: impl Fn($t) -> $t + Copy + 'static,
        ) -> V::Output {
            #[allow(unused_comparisons)]
            let floored = |a: $t, b: $t| {
                let quotient = a.checked_rem(b).map_or(0, |_| a.wrapping_div(b));
                let inexact = b != 0 && a.wrapping_rem(b) != 0;
                if inexact && ((a < 0) != (b < 0)) {
                    quotient.wrapping_sub(1)
                } else {
                    quotient
                }
            };
            let div = |a: $t, b: $t| if b == 0 { 0 } else { a.wrapping_div(b) };
            let rem = |a: $t, b: $t| if b == 0 { 0 } else { a.wrapping_rem(b) };
            match op {
                Binary::Add => v.cheap2::<$t, $t>(move |a, b| wrap(a.wrapping_add(b))),
                Binary::Sub => v.cheap2::<$t, $t>(move |a, b| wrap(a.wrapping_sub(b))),
                Binary::Mul => v.cheap2::<$t, $t>(move |a, b| wrap(a.wrapping_mul(b))),
                Binary::Div => v.costly2::<$t, $t>(move |a, b| wrap(div(a, b))),
                Binary::FloorDiv => v.costly2::<$t, $t>(move |a, b| wrap(floored(a, b))),
                Binary::Mod => v.costly2::<$t, $t>(move |a, b| wrap(rem(a, b))),
                Binary::Min => v.cheap2::<$t, $t>(<$t>::min),
                Binary::Max => v.cheap2::<$t, $t>(<$t>::max),
                Binary::And => v.cheap2::<$t, $t>(|a, b| a & b),
                Binary::Or => v.cheap2::<$t, $t>(|a, b| a | b),
                Binary::Xor => v.cheap2::<$t, $t>(|a, b| a ^ b),
                Binary::Shl => v.cheap2::<$t, $t>(move |a, b| wrap(a.wrapping_shl(b as u32))),
                Binary::Shr => v.cheap2::<$t, $t>(move |a, b| wrap(a.wrapping_shr(b as u32))),
                // The front end gives these to floats only.
                Binary::Pow | Binary::Atan2 | Binary::CopySign => v.nothing(),
            }
        }

        #[inline(always)]
        #[allow(unused_comparisons)]
        fn $unary<V: Visitor>(
            v: V,
            op: Unary,
            wrap: impl Fn($t) -> $t + Copy + 'static,
        ) -> V::Output {
            match op {
                Unary::Neg => v.cheap1::<$t, $t>(move |x| wrap(x.wrapping_neg())),
                Unary::Abs => {
                    v.cheap1::<$t, $t>(move |x| wrap(if x < 0 { x.wrapping_neg() } else { x }))
                }
                Unary::Sign => {
                    v.cheap1::<$t, $t>(|x| if x < 0 { (0 as $t).wrapping_sub(1) } else { 1 })
                }
                Unary::Step => v.cheap1::<$t, $t>(|x| <$t>::from(x < 0)),
                Unary::NonZero => v.cheap1::<$t, $t>(|x| <$t>::from(x != 0)),
                Unary::Invert => v.cheap1::<$t, $t>(move |x| wrap(!x)),
                Unary::Pcg => v.cheap1::<$t, $t>(|x| special::pcg(x as u32) as $t),
                // Floats only; `BitCount` changes the type and is handled by the caller.
                _ => v.nothing(),
            }
        }
    };
}
integer_operations!(binary_i32, unary_i32, i32);
integer_operations!(binary_u32, unary_u32, u32);
integer_operations!(binary_i64, unary_i64, i64);
integer_operations!(binary_u64, unary_u64, u64);

/// The quotient, towards zero, by way of `f64`, whose division vectors have: the quotient of two 32-bit
/// numbers that is no integer is further from the next one than `f64` rounds.
#[inline(always)]
fn quotient(a: i32, b: i32) -> i32 {
    let by = if b == 0 || b == -1 { 1 } else { b };
    let quotient = f64::from(a) / f64::from(by);
    // SAFETY: a number divided by another integer than 0 is finite and no larger; -2^31 / -1 is left out.
    let towards_zero: i32 = unsafe { quotient.to_int_unchecked() };
    match b {
        0 => 0,
        -1 => a.wrapping_neg(),
        _ => towards_zero,
    }
}

/// What is left of `a` after [`quotient`] times `b`.
#[inline(always)]
fn remainder(a: i32, b: i32) -> i32 {
    let left = a.wrapping_sub(quotient(a, b).wrapping_mul(b));
    if b == 0 { 0 } else { left }
}

/// Whether an operation on the type is among those that `common_binary` and `common_unary` know.
pub(super) fn is_common(ty: Scalar) -> bool {
    !matches!(
        ty,
        Scalar::F16 | Scalar::BF16 | Scalar::I8 | Scalar::I16 | Scalar::U8 | Scalar::U16
    )
}

/// Shows `v` what `a op b` is.
#[inline(always)]
pub(super) fn binary<V: Visitor>(v: V, op: Binary, ty: Scalar) -> V::Output {
    match is_common(ty) {
        true => common_binary(v, op, ty),
        false => small_binary(v, op, ty),
    }
}

/// As [`binary`], for types that fill their lanes and for truth values.
#[inline(always)]
pub(super) fn common_binary<V: Visitor>(v: V, op: Binary, ty: Scalar) -> V::Output {
    match ty {
        Scalar::F32 => binary_f32(v, op, |x| x),
        Scalar::F64 => binary_f64(v, op, |x| x),
        Scalar::U32 => binary_u32(v, op, |x| x),
        Scalar::I64 => binary_i64(v, op, |x| x),
        Scalar::U64 => binary_u64(v, op, |x| x),
        Scalar::Bool => binary_i32(v, op, |x| i32::from(x != 0)),
        Scalar::I32 if op == Binary::Div => v.cheap2(quotient),
        Scalar::I32 if op == Binary::Mod => v.cheap2(remainder),
        _ => binary_i32(v, op, |x| x),
    }
}

/// As [`binary`], for types of 8 and 16 bits.
#[inline(always)]
pub(super) fn small_binary<V: Visitor>(v: V, op: Binary, ty: Scalar) -> V::Output {
    match ty {
        Scalar::F16 => binary_f32(v, op, round_half),
        Scalar::BF16 => binary_f32(v, op, round_bfloat16),
        Scalar::I8 => binary_i32(v, op, |x| i32::from(x as i8)),
        Scalar::I16 => binary_i32(v, op, |x| i32::from(x as i16)),
        Scalar::U8 => binary_u32(v, op, |x| u32::from(x as u8)),
        Scalar::U16 => binary_u32(v, op, |x| u32::from(x as u16)),
        _ => v.nothing(),
    }
}

/// Shows `v` what `op a` is.
#[inline(always)]
pub(super) fn unary<V: Visitor>(v: V, op: Unary, ty: Scalar) -> V::Output {
    match (op, is_common(ty)) {
        (Unary::BitCount, _) => bit_count(v, ty),
        (_, true) => common_unary(v, op, ty),
        (_, false) => small_unary(v, op, ty),
    }
}

/// As [`unary`], for types that fill their lanes.
#[inline(always)]
pub(super) fn common_unary<V: Visitor>(v: V, op: Unary, ty: Scalar) -> V::Output {
    match ty {
        Scalar::F32 => unary_f32(v, op, |x| x),
        Scalar::F64 => unary_f64(v, op, |x| x),
        Scalar::U32 => unary_u32(v, op, |x| x),
        Scalar::I64 => unary_i64(v, op, |x| x),
        Scalar::U64 => unary_u64(v, op, |x| x),
        _ => unary_i32(v, op, |x| x),
    }
}

/// As [`unary`], for types of 8 and 16 bits.
#[inline(always)]
pub(super) fn small_unary<V: Visitor>(v: V, op: Unary, ty: Scalar) -> V::Output {
    match (op, ty) {
        (Unary::BitCount, _) => bit_count(v, ty),
        (_, Scalar::F16) => unary_f32(v, op, round_half),
        (_, Scalar::BF16) => unary_f32(v, op, round_bfloat16),
        (_, Scalar::I8) => unary_i32(v, op, |x| i32::from(x as i8)),
        (_, Scalar::I16) => unary_i32(v, op, |x| i32::from(x as i16)),
        (_, Scalar::U8) => unary_u32(v, op, |x| u32::from(x as u8)),
        (_, Scalar::U16) => unary_u32(v, op, |x| u32::from(x as u16)),
        _ => bit_count(v, ty),
    }
}

#[inline(always)]
fn bit_count<V: Visitor>(v: V, ty: Scalar) -> V::Output {
    match ty {
        Scalar::I64 | Scalar::U64 => v.cheap1::<u64, i32>(|x| x.count_ones() as i32),
        Scalar::I8 => v.cheap1::<u32, i32>(|x| (x & 0xff).count_ones() as i32),
        Scalar::I16 => v.cheap1::<u32, i32>(|x| (x & 0xffff).count_ones() as i32),
        _ => v.cheap1::<u32, i32>(|x| x.count_ones() as i32),
    }
}

/// Shows `v` the answer to a question about a float.
#[inline(always)]
pub(super) fn classify<V: Visitor>(v: V, class: Class, ty: Scalar) -> V::Output {
    match ty {
        Scalar::F64 => classify_f64(v, class),
        _ => classify_f32(v, class),
    }
}

/// Shows `v` what `a < b` and the like are.
#[inline(always)]
pub(super) fn compare<V: Visitor>(v: V, op: Comparison, ty: Scalar) -> V::Output {
    match ty {
        Scalar::F32 | Scalar::F16 | Scalar::BF16 => compare_as::<f32, V>(v, op),
        Scalar::F64 => compare_as::<f64, V>(v, op),
        Scalar::I64 => compare_as::<i64, V>(v, op),
        Scalar::U64 => compare_as::<u64, V>(v, op),
        Scalar::U8 | Scalar::U16 | Scalar::U32 => compare_as::<u32, V>(v, op),
        _ => compare_as::<i32, V>(v, op),
    }
}

#[inline(always)]
fn compare_as<T: Word, V: Visitor>(v: V, op: Comparison) -> V::Output {
    match op {
        Comparison::Equal => v.cheap2::<T, i32>(|a, b| i32::from(a == b)),
        Comparison::NotEqual => v.cheap2::<T, i32>(|a, b| i32::from(a != b)),
        Comparison::Less => v.cheap2::<T, i32>(|a, b| i32::from(a < b)),
        Comparison::LessEqual => v.cheap2::<T, i32>(|a, b| i32::from(a <= b)),
        Comparison::Greater => v.cheap2::<T, i32>(|a, b| i32::from(a > b)),
        Comparison::GreaterEqual => v.cheap2::<T, i32>(|a, b| i32::from(a >= b)),
    }
}

macro_rules! common_cast_from {
    ($v:ident, $to:ident, $t:ty) => {
        match $to {
            Scalar::F32 => $v.cheap1::<$t, f32>(|x| x as f32),
            Scalar::F64 => $v.cheap1::<$t, f64>(|x| x as f64),
            Scalar::U32 => $v.cheap1::<$t, u32>(|x| x as i64 as u32),
            Scalar::I64 => $v.cheap1::<$t, i64>(|x| x as i64),
            Scalar::U64 => $v.cheap1::<$t, u64>(|x| x as i128 as u64),
            Scalar::Bool => $v.cheap1::<$t, i32>(|x| i32::from(x != (0 as $t))),
            _ => $v.cheap1::<$t, i32>(|x| x as i32),
        }
    };
}

macro_rules! small_cast_from {
    ($v:ident, $to:ident, $t:ty) => {
        match $to {
            Scalar::F16 => $v.cheap1::<$t, f32>(|x| round_half(x as f32)),
            Scalar::BF16 => $v.cheap1::<$t, f32>(|x| round_bfloat16(x as f32)),
            Scalar::I8 => $v.cheap1::<$t, i32>(|x| i32::from(x as i32 as i8)),
            Scalar::I16 => $v.cheap1::<$t, i32>(|x| i32::from(x as i32 as i16)),
            Scalar::U8 => $v.cheap1::<$t, u32>(|x| u32::from(x as i64 as u8)),
            _ => $v.cheap1::<$t, u32>(|x| u32::from(x as i64 as u16)),
        }
    };
}

macro_rules! cast_by {
    ($from_each:ident, $v:ident, $from:ident, $to:ident) => {
        match $from {
            Scalar::F32 | Scalar::F16 | Scalar::BF16 => $from_each!($v, $to, f32),
            Scalar::F64 => $from_each!($v, $to, f64),
            Scalar::I64 => $from_each!($v, $to, i64),
            Scalar::U64 => $from_each!($v, $to, u64),
            Scalar::U8 | Scalar::U16 | Scalar::U32 => $from_each!($v, $to, u32),
            _ => $from_each!($v, $to, i32),
        }
    };
}

/// Shows `v` what a number is as another type.
#[inline(always)]
pub(super) fn cast<V: Visitor>(v: V, from: Scalar, to: Scalar) -> V::Output {
    match is_common(to) {
        true => common_cast(v, from, to),
        false => small_cast(v, from, to),
    }
}

/// As [`cast`], to a type that fills its lanes or a truth value.
#[inline(always)]
pub(super) fn common_cast<V: Visitor>(v: V, from: Scalar, to: Scalar) -> V::Output {
    cast_by!(common_cast_from, v, from, to)
}

/// As [`cast`], to a type of 8 or 16 bits.
#[inline(always)]
pub(super) fn small_cast<V: Visitor>(v: V, from: Scalar, to: Scalar) -> V::Output {
    cast_by!(small_cast_from, v, from, to)
}

#[cfg(test)]
mod tests {
    use super::{quotient, remainder};

    #[test]
    fn quotients_through_floats_are_those_of_integers() {
        let mut values = vec![0, 1, 2, 3, 5, 7, 46_340, 46_341, 65_535, 1 << 30];
        values.extend([i32::MAX, i32::MAX - 1, i32::MIN + 1, i32::MIN, i32::MAX / 2]);
        let mut word = 1_u64;
        values.extend((0..2_000).map(|n| {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((word >> 32) as i32) >> (n % 31)
        }));
        let negative: Vec<i32> = values.iter().map(|value| value.wrapping_neg()).collect();
        values.extend(negative);
        for a in &values {
            for b in &values {
                let (q, r) = match b {
                    0 => (0, 0),
                    _ => (a.wrapping_div(*b), a.wrapping_rem(*b)),
                };
                assert_eq!((quotient(*a, *b), remainder(*a, *b)), (q, r), "{a} and {b}");
            }
        }
    }
}
