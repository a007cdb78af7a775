//! Python's arithmetic on constants. What depends on a mathematics library is left out: a last digit that
//! differs from one machine to the next would be a wrong byte.

use crate::syntax::BinaryOp;
use warpsmith_ir::types::{Scalar, Type, TypeTable};
use warpsmith_ir::{Comparison, Constant, Number};

/// Python's arithmetic on numbers.
pub(super) fn arithmetic(op: BinaryOp, left: Number, right: Number) -> Option<Number> {
    if let (Number::Int(a), Number::Int(b)) = (left, right) {
        let value = match op {
            BinaryOp::Add => a.checked_add(b)?,
            BinaryOp::Sub => a.checked_sub(b)?,
            BinaryOp::Mul => a.checked_mul(b)?,
            BinaryOp::FloorDiv => a.checked_div_euclid(b).filter(|_| b > 0)?,
            BinaryOp::Mod => a.checked_rem_euclid(b).filter(|_| b > 0)?,
            BinaryOp::Pow => a.checked_pow(u32::try_from(b).ok()?)?,
            BinaryOp::BitAnd => a & b,
            BinaryOp::BitOr => a | b,
            BinaryOp::BitXor => a ^ b,
            BinaryOp::ShiftLeft => {
                let shift = u32::try_from(b).ok().filter(|shift| *shift < 100)?;
                a.checked_mul(1_i128.checked_shl(shift)?)?
            }
            BinaryOp::ShiftRight => a >> u32::try_from(b).ok().filter(|shift| *shift < 127)?,
            BinaryOp::Div if b != 0 && a.abs() < 1 << 53 && b.abs() < 1 << 53 => {
                return Some(Number::Float(a as f64 / b as f64));
            }
            BinaryOp::Div | BinaryOp::MatMul => return None,
        };
        return Some(Number::Int(value));
    }
    let (a, b) = (as_float(left), as_float(right));
    Some(Number::Float(match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div if b != 0.0 => a / b,
        BinaryOp::FloorDiv if b != 0.0 => floor_division(a, b).0,
        BinaryOp::Mod if b != 0.0 => floor_division(a, b).1,
        BinaryOp::Pow if b == 2.0 => square(a)?,
        _ => return None,
    }))
}

/// A square as a mathematics library gives it that is off by less than 0.515 units in the last place: what lies
/// closer to the middle between two floats is left out.
fn square(a: f64) -> Option<f64> {
    let product = a * a;
    let error = a.mul_add(a, -product);
    if !(1e-40..1e40).contains(&product) {
        return None;
    }
    let step = product - f64::from_bits(product.to_bits() - 1);
    (error.abs() < 0.485 * step).then_some(product)
}

/// Quotient and remainder of floats, rounded down.
fn floor_division(a: f64, b: f64) -> (f64, f64) {
    let mut remainder = a % b;
    let mut quotient = (a - remainder) / b;
    if remainder == 0.0 {
        remainder = 0.0_f64.copysign(b);
    } else if (b < 0.0) != (remainder < 0.0) {
        remainder += b;
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return (0.0_f64.copysign(a / b), remainder);
    }
    let floor = quotient.floor();
    let quotient = if quotient - floor > 0.5 {
        floor + 1.0
    } else {
        floor
    };
    (quotient, remainder)
}

/// Compares two numbers.
pub(super) fn compare(comparison: Comparison, left: Number, right: Number) -> bool {
    let order = match (left, right) {
        (Number::Int(a), Number::Int(b)) => Some(a.cmp(&b)),
        (a, b) => as_float(a).partial_cmp(&as_float(b)),
    };
    match comparison {
        Comparison::Equal => order.is_some_and(|order| order.is_eq()),
        Comparison::NotEqual => order.is_none_or(|order| order.is_ne()),
        Comparison::Less => order.is_some_and(|order| order.is_lt()),
        Comparison::LessEqual => order.is_some_and(|order| order.is_le()),
        Comparison::Greater => order.is_some_and(|order| order.is_gt()),
        Comparison::GreaterEqual => order.is_some_and(|order| order.is_ge()),
    }
}

fn as_float(number: Number) -> f64 {
    match number {
        Number::Int(value) => value as f64,
        Number::Float(value) => value,
    }
}

/// Sums and differences of two vectors, and a vector times or divided by a number, in the vector's own
/// precision; single and double precision only.
pub(super) fn elementwise(
    op: BinaryOp,
    left: Constant,
    right: Constant,
    elements: &mut Vec<Number>,
    types: &TypeTable,
) -> Option<Constant> {
    let vector = |constant| match constant {
        Constant::Compound { ty, start, len } => match types.get(ty) {
            Type::Vector { scalar, .. } => Some((ty, scalar, start as usize, len as usize)),
            _ => None,
        },
        _ => None,
    };
    let (ty, scalar, len) = vector(left)
        .or_else(|| vector(right))
        .map(|(ty, scalar, _, len)| (ty, scalar, len))?;
    let at = |constant: Constant, index: usize| -> Option<f64> {
        match vector(constant) {
            Some((other, _, start, _)) if other == ty => Some(as_float(elements[start + index])),
            Some(_) => None,
            // Python's numbers are no `float64` to the library.
            None => match constant {
                Constant::Number(number @ Number::Float(_)) if scalar == Scalar::F32 => {
                    Some(as_float(number))
                }
                Constant::Typed(other, number) if other == scalar => Some(as_float(number)),
                _ => None,
            },
        }
    };
    let both = vector(left).is_some() && vector(right).is_some();
    // The library has functions of these lengths alone.
    if both && !matches!(len, 2..=4 | 6) {
        return None;
    }
    let mut results = Vec::with_capacity(len);
    for index in 0..len {
        let (a, b) = (at(left, index)?, at(right, index)?);
        let value = match (op, both, vector(left).is_some()) {
            (BinaryOp::Add, true, _) => apply(scalar, a, b, |a, b| a + b, |a, b| a + b)?,
            (BinaryOp::Sub, true, _) => apply(scalar, a, b, |a, b| a - b, |a, b| a - b)?,
            (BinaryOp::Mul, false, _) => apply(scalar, a, b, |a, b| a * b, |a, b| a * b)?,
            (BinaryOp::Div, false, true) => apply(scalar, a, b, |a, b| a / b, |a, b| a / b)?,
            _ => return None,
        };
        results.push(Number::Float(value));
    }
    let start = elements.len() as u32;
    elements.extend(results);
    Some(Constant::Compound {
        ty,
        start,
        len: len as u32,
    })
}

/// An operation of two numbers in the precision of a scalar; single and double precision only.
pub(super) fn in_precision(op: BinaryOp, scalar: Scalar, a: f64, b: f64) -> Option<f64> {
    match op {
        BinaryOp::Add => apply(scalar, a, b, |a, b| a + b, |a, b| a + b),
        BinaryOp::Sub => apply(scalar, a, b, |a, b| a - b, |a, b| a - b),
        BinaryOp::Mul => apply(scalar, a, b, |a, b| a * b, |a, b| a * b),
        BinaryOp::Div if b != 0.0 => apply(scalar, a, b, |a, b| a / b, |a, b| a / b),
        _ => None,
    }
}

fn apply(
    scalar: Scalar,
    a: f64,
    b: f64,
    single: fn(f32, f32) -> f32,
    double: fn(f64, f64) -> f64,
) -> Option<f64> {
    match scalar {
        Scalar::F32 => Some(f64::from(single(a as f32, b as f32))),
        Scalar::F64 => Some(double(a, b)),
        _ => None,
    }
}
