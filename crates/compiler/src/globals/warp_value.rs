//! What Python makes of Warp's own values: components of vectors and matrices, arithmetic of scalars, and functions of
//! vectors whose every operation rounds once.
//!
//! Numbers of `float32` and `int32` come out as Python's own; those of other types keep their type.

use super::arithmetic::in_precision;
use super::rounding::round_to;
use crate::syntax::BinaryOp;
use warpsmith_ir::algebra::{self, Operand, Operator};
use warpsmith_ir::types::{Scalar, Type, TypeTable};
use warpsmith_ir::{Constant, Number};

/// A number of a scalar type as Python sees it.
fn exported(scalar: Scalar, number: Number) -> Option<Constant> {
    let number = round_to(scalar, number)?;
    Some(match (scalar, number) {
        (Scalar::Bool, Number::Int(value)) => Constant::Bool(value != 0),
        (Scalar::F32 | Scalar::I32, number) => Constant::Number(number),
        _ => Constant::Typed(scalar, number),
    })
}

/// `v[i]`, `m[i]` and `m[i, j]`.
pub(super) fn component(
    value: Constant,
    indices: &[i128],
    elements: &[Number],
    types: &mut TypeTable,
) -> Option<Constant> {
    let Constant::Compound { ty, start, .. } = value else {
        return None;
    };
    let at = |index: i128, length: u32| {
        let length = i128::from(length);
        let index = if index < 0 { index + length } else { index };
        u32::try_from(index).ok().filter(|_| index < length)
    };
    let (scalar, offset) = match (types.get(ty), indices) {
        (Type::Vector { length, scalar }, &[index]) => (scalar, at(index, length)?),
        (Type::Quat(scalar), &[index]) => (scalar, at(index, 4)?),
        (Type::Transform(scalar), &[index]) => (scalar, at(index, 7)?),
        (Type::Matrix { rows, cols, scalar }, &[row, col]) => {
            (scalar, at(row, rows)? * cols + at(col, cols)?)
        }
        (Type::Matrix { rows, cols, scalar }, &[row]) => {
            return Some(Constant::Compound {
                ty: types.intern(Type::Vector {
                    length: cols,
                    scalar,
                }),
                start: start + at(row, rows)? * cols,
                len: cols,
            });
        }
        _ => return None,
    };
    exported(scalar, elements[(start + offset) as usize])
}

/// `v.x` and its kin.
pub(super) fn named_component(
    value: Constant,
    name: &str,
    elements: &[Number],
    types: &mut TypeTable,
) -> Option<Constant> {
    let Constant::Compound { ty, .. } = value else {
        return None;
    };
    let index = ["x", "y", "z", "w"]
        .iter()
        .position(|known| *known == name)?;
    match types.get(ty) {
        Type::Vector { length: 2..=4, .. } | Type::Quat(_) => {
            component(value, &[index as i128], elements, types)
        }
        _ => None,
    }
}

/// The type and the number of a scalar; Python's own numbers are `float32` and `int32`.
fn scalar_of(value: Constant) -> Option<(Scalar, Number)> {
    match value {
        Constant::Typed(scalar, number) => Some((scalar, number)),
        Constant::Number(number @ Number::Float(_)) => Some((Scalar::F32, number)),
        Constant::Number(number @ Number::Int(_)) => Some((Scalar::I32, number)),
        _ => None,
    }
}

/// What an operator makes of two scalars, one of which is Warp's.
pub(super) fn of_scalars(op: BinaryOp, left: Constant, right: Constant) -> Option<Constant> {
    let ((scalar, a), (other, b)) = (scalar_of(left)?, scalar_of(right)?);
    if scalar != other {
        return None;
    }
    let number = match (a, b) {
        (Number::Int(a), Number::Int(b)) if !scalar.is_float() => Number::Int(match op {
            BinaryOp::Add => a.checked_add(b)?,
            BinaryOp::Sub => a.checked_sub(b)?,
            BinaryOp::Mul => a.checked_mul(b)?,
            _ => return None,
        }),
        _ if scalar.is_float() => Number::Float(in_precision(op, scalar, float(a), float(b))?),
        _ => return None,
    };
    exported(scalar, number)
}

/// `-x` of one of Warp's scalars.
pub(super) fn negative(scalar: Scalar, number: Number) -> Option<Constant> {
    match number {
        Number::Float(value) => exported(scalar, Number::Float(-value)),
        Number::Int(value) => exported(scalar, Number::Int(value.checked_neg()?)),
    }
}

fn float(number: Number) -> f64 {
    match number {
        Number::Float(value) => value,
        Number::Int(value) => value as f64,
    }
}

/// A function of Warp on values, where each of its operations rounds once.
pub(super) fn function(
    name: &str,
    values: &[Constant],
    elements: &mut Vec<Number>,
    types: &TypeTable,
) -> Option<Constant> {
    if let ("sqrt", &[value]) = (name, values) {
        let (scalar, number) = scalar_of(value)?;
        let root = root(scalar, float(number))?;
        return exported(scalar, Number::Float(root));
    }
    let vector = |value: Constant| match value {
        Constant::Compound { ty, start, len } => match types.get(ty) {
            // The library has functions of these lengths alone.
            Type::Vector {
                scalar,
                length: 2..=4 | 6,
            } => {
                let parts = elements[start as usize..][..len as usize].iter();
                Some((
                    ty,
                    scalar,
                    parts.map(|part| float(*part)).collect::<Vec<f64>>(),
                ))
            }
            _ => None,
        },
        _ => None,
    };
    let (first, second) = match *values {
        [a] => (vector(a)?, None),
        [a, b] => (vector(a)?, Some(vector(b)?)),
        _ => return None,
    };
    let (ty, scalar, a) = first;
    let b = match second {
        Some((other, ..)) if other != ty => return None,
        Some((.., b)) => Some(b),
        None => None,
    };
    let number = |value: Option<f64>| exported(scalar, Number::Float(value?));
    let parts = match (name, b) {
        ("dot", Some(b)) => return number(dot(scalar, &a, &b)),
        ("length_sq", None) => return number(dot(scalar, &a, &a)),
        ("length", None) => return number(root(scalar, dot(scalar, &a, &a)?)),
        ("normalize", None) => {
            let length = root(scalar, dot(scalar, &a, &a)?)?;
            let part = |part: &f64| match length > 0.0 {
                true => in_precision(BinaryOp::Div, scalar, *part, length),
                false => Some(0.0),
            };
            a.iter().map(part).collect::<Option<Vec<f64>>>()?
        }
        ("cross", Some(b)) if a.len() == 3 => {
            let part = |i: usize, j: usize| {
                let left = in_precision(BinaryOp::Mul, scalar, a[i], b[j])?;
                let right = in_precision(BinaryOp::Mul, scalar, a[j], b[i])?;
                in_precision(BinaryOp::Sub, scalar, left, right)
            };
            vec![part(1, 2)?, part(2, 0)?, part(0, 1)?]
        }
        _ => return None,
    };
    let (start, len) = (elements.len() as u32, parts.len() as u32);
    elements.extend(parts.into_iter().map(Number::Float));
    Some(Constant::Compound { ty, start, len })
}

fn dot(scalar: Scalar, a: &[f64], b: &[f64]) -> Option<f64> {
    let mut products = a.iter().zip(b);
    let (a, b) = products.next()?;
    let first = in_precision(BinaryOp::Mul, scalar, *a, *b)?;
    products.try_fold(first, |sum, (a, b)| {
        let product = in_precision(BinaryOp::Mul, scalar, *a, *b)?;
        in_precision(BinaryOp::Add, scalar, sum, product)
    })
}

fn root(scalar: Scalar, value: f64) -> Option<f64> {
    match scalar {
        Scalar::F32 => Some(f64::from((value as f32).sqrt())),
        Scalar::F64 => Some(value.sqrt()),
        _ => None,
    }
}

/// What an operator makes of matrices, quaternions and transforms.
pub(super) fn combined(
    op: BinaryOp,
    values: &[Constant],
    elements: &mut Vec<Number>,
    types: &mut TypeTable,
) -> Option<Constant> {
    let op = match op {
        BinaryOp::Add => Operator::Add,
        BinaryOp::Sub => Operator::Sub,
        BinaryOp::Mul => Operator::Mul,
        BinaryOp::MatMul => Operator::MatMul,
        BinaryOp::Div => Operator::Div,
        _ => return None,
    };
    let made = algebra::operator(op, &operands(values, elements, types)?)?;
    entered(made, elements, types)
}

/// What a function makes of such values.
pub(super) fn algebraic(
    name: &str,
    values: &[Constant],
    elements: &mut Vec<Number>,
    types: &mut TypeTable,
) -> Option<Constant> {
    let made = algebra::function(name, &operands(values, elements, types)?)?;
    entered(made, elements, types)
}

fn operands(values: &[Constant], elements: &[Number], types: &TypeTable) -> Option<Vec<Operand>> {
    let operand = |value: &Constant| match *value {
        Constant::Number(Number::Float(number)) => Some(Operand {
            ty: Type::Scalar(Scalar::F32),
            numbers: vec![number],
        }),
        Constant::Compound { ty, start, len } => {
            let numbers = elements[start as usize..][..len as usize].iter();
            Some(Operand {
                ty: types.get(ty),
                numbers: numbers.map(|number| float(*number)).collect(),
            })
        }
        _ => None,
    };
    values.iter().map(operand).collect()
}

fn entered(made: Operand, elements: &mut Vec<Number>, types: &mut TypeTable) -> Option<Constant> {
    if let Type::Scalar(scalar) = made.ty {
        return exported(scalar, Number::Float(made.numbers[0]));
    }
    let (start, len) = (elements.len() as u32, made.numbers.len() as u32);
    elements.extend(made.numbers.into_iter().map(Number::Float));
    let ty = types.intern(made.ty);
    Some(Constant::Compound { ty, start, len })
}
