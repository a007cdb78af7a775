//! What Warp's library makes of constant matrices, quaternions and transforms, operation by operation: a product of two
//! matrices is a chain of multiply-adds that round once, all else rounds after each operation.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::types::{Scalar, Type};

/// A number of one precision.
trait Real:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + PartialOrd
{
    const IS_SINGLE: bool;

    fn of(value: f64) -> Self;
    fn wide(self) -> f64;
    fn root(self) -> Self;
    /// `self * by + to`, rounded once.
    fn fused(self, by: Self, to: Self) -> Self;
}

impl Real for f32 {
    const IS_SINGLE: bool = true;

    fn of(value: f64) -> Self {
        value as Self
    }

    fn wide(self) -> f64 {
        self.into()
    }

    fn root(self) -> Self {
        self.sqrt()
    }

    fn fused(self, by: Self, to: Self) -> Self {
        self.mul_add(by, to)
    }
}

impl Real for f64 {
    const IS_SINGLE: bool = false;

    fn of(value: f64) -> Self {
        value
    }

    fn wide(self) -> f64 {
        self
    }

    fn root(self) -> Self {
        self.sqrt()
    }

    fn fused(self, by: Self, to: Self) -> Self {
        self.mul_add(by, to)
    }
}

/// A value by its kind and its numbers.
struct Value<T> {
    kind: Kind,
    numbers: Vec<T>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Vector,
    Matrix(usize, usize),
    Quat,
    Transform,
}

/// A constant: its type and its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand {
    /// A scalar, vector, matrix, quaternion or transform.
    pub ty: Type,
    /// What it consists of, a matrix row by row.
    pub numbers: Vec<f64>,
}

/// An operator on such constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `@`
    MatMul,
    /// `/`
    Div,
}

/// What an operator makes of two values.
pub fn operator(op: Operator, operands: &[Operand]) -> Option<Operand> {
    match precision(operands)? {
        Scalar::F32 => Some(operate(op, &read::<f32>(operands)?)?.written(Scalar::F32)),
        _ => Some(operate(op, &read::<f64>(operands)?)?.written(Scalar::F64)),
    }
}

/// What a function makes of values.
pub fn function(name: &str, operands: &[Operand]) -> Option<Operand> {
    match precision(operands)? {
        Scalar::F32 => Some(call(name, &read::<f32>(operands)?)?.written(Scalar::F32)),
        _ => Some(call(name, &read::<f64>(operands)?)?.written(Scalar::F64)),
    }
}

/// The precision that all values have but for bare numbers; nothing where it is neither single nor double.
fn precision(operands: &[Operand]) -> Option<Scalar> {
    let mut scalars = operands.iter().filter_map(|operand| match operand.ty {
        Type::Vector { scalar, .. }
        | Type::Matrix { scalar, .. }
        | Type::Quat(scalar)
        | Type::Transform(scalar) => Some(scalar),
        _ => None,
    });
    let first = scalars.next()?;
    let same = scalars.all(|other| other == first);
    (same && matches!(first, Scalar::F32 | Scalar::F64)).then_some(first)
}

fn read<T: Real>(operands: &[Operand]) -> Option<Vec<Value<T>>> {
    let value = |operand: &Operand| {
        let kind = match operand.ty {
            // A bare number is no `float64` to the library.
            Type::Scalar(Scalar::F32) if T::IS_SINGLE => Kind::Number,
            // The library has functions of these sizes alone.
            Type::Vector { length: 2..=4, .. } => Kind::Vector,
            Type::Matrix {
                rows: rows @ 2..=4,
                cols,
                ..
            } if rows == cols => Kind::Matrix(cols as usize, cols as usize),
            Type::Quat(_) => Kind::Quat,
            Type::Transform(_) => Kind::Transform,
            _ => return None,
        };
        let numbers = operand.numbers.iter().map(|number| T::of(*number));
        Some(Value {
            kind,
            numbers: numbers.collect(),
        })
    };
    operands.iter().map(value).collect()
}

impl<T: Real> Value<T> {
    fn written(self, scalar: Scalar) -> Operand {
        let length = self.numbers.len() as u32;
        Operand {
            ty: match self.kind {
                Kind::Number => Type::Scalar(scalar),
                Kind::Vector => Type::Vector { length, scalar },
                Kind::Matrix(rows, cols) => Type::Matrix {
                    rows: rows as u32,
                    cols: cols as u32,
                    scalar,
                },
                Kind::Quat => Type::Quat(scalar),
                Kind::Transform => Type::Transform(scalar),
            },
            numbers: self.numbers.into_iter().map(T::wide).collect(),
        }
    }
}

fn operate<T: Real>(op: Operator, operands: &[Value<T>]) -> Option<Value<T>> {
    let [a, b] = operands else {
        return None;
    };
    let each = |of: &Value<T>, f: &dyn Fn(T) -> T| Value {
        kind: of.kind,
        numbers: of.numbers.iter().map(|number| f(*number)).collect(),
    };
    let is_whole = |kind| matches!(kind, Kind::Matrix(..) | Kind::Quat);
    let numbers = match (op, a.kind, b.kind) {
        (Operator::Add, one, other) if one == other && is_whole(one) => pairs(a, b, T::add),
        (Operator::Sub, one, other) if one == other && is_whole(one) => pairs(a, b, T::sub),
        (
            Operator::Mul | Operator::MatMul,
            Kind::Matrix(rows, inner),
            Kind::Matrix(other, cols),
        ) if inner == other => {
            let mut numbers = Vec::with_capacity(rows * cols);
            for row in 0..rows {
                for col in 0..cols {
                    numbers.push((0..inner).fold(T::of(0.0), |sum, k| {
                        a.numbers[row * inner + k].fused(b.numbers[k * cols + col], sum)
                    }));
                }
            }
            let kind = Kind::Matrix(rows, cols);
            return Some(Value { kind, numbers });
        }
        (Operator::Mul | Operator::MatMul, Kind::Matrix(rows, cols), Kind::Vector)
            if b.numbers.len() == cols =>
        {
            let part = |row: usize| chain(cols, |k| a.numbers[row * cols + k] * b.numbers[k]);
            let numbers = (0..rows).map(part).collect();
            return Some(Value {
                kind: Kind::Vector,
                numbers,
            });
        }
        (Operator::Mul | Operator::MatMul, Kind::Vector, Kind::Matrix(rows, cols))
            if a.numbers.len() == rows =>
        {
            let part = |col: usize| chain(rows, |k| b.numbers[k * cols + col] * a.numbers[k]);
            let numbers = (0..cols).map(part).collect();
            return Some(Value {
                kind: Kind::Vector,
                numbers,
            });
        }
        (Operator::Mul, Kind::Quat, Kind::Quat) => quat_product(&a.numbers, &b.numbers),
        (Operator::Mul, Kind::Transform, Kind::Transform) => {
            return call("transform_multiply", operands);
        }
        (Operator::Mul, kind, Kind::Number) if is_whole(kind) => {
            let by = b.numbers[0];
            return Some(each(a, &|number| number * by));
        }
        (Operator::Mul, Kind::Number, kind) if is_whole(kind) => {
            let by = a.numbers[0];
            return Some(each(b, &|number| number * by));
        }
        (Operator::Div, kind, Kind::Number) if is_whole(kind) && b.numbers[0] != T::of(0.0) => {
            let by = b.numbers[0];
            return Some(each(a, &|number| number / by));
        }
        _ => return None,
    };
    Some(Value {
        kind: a.kind,
        numbers,
    })
}

/// A sum from the left.
fn chain<T: Real>(count: usize, part: impl Fn(usize) -> T) -> T {
    (1..count).fold(part(0), |sum, k| sum + part(k))
}

fn pairs<T: Real>(a: &Value<T>, b: &Value<T>, f: fn(T, T) -> T) -> Vec<T> {
    let pairs = a.numbers.iter().zip(&b.numbers);
    pairs.map(|(a, b)| f(*a, *b)).collect()
}

fn call<T: Real>(name: &str, operands: &[Value<T>]) -> Option<Value<T>> {
    let (kinds, numbers): (Vec<Kind>, Vec<&[T]>) = operands
        .iter()
        .map(|operand| (operand.kind, operand.numbers.as_slice()))
        .unzip();
    let (kind, numbers) = match (name, &*kinds, &*numbers) {
        ("transpose", &[Kind::Matrix(rows, cols)], &[m]) => {
            let part = |at: usize| m[at % rows * cols + at / rows];
            (
                Kind::Matrix(cols, rows),
                (0..rows * cols).map(part).collect(),
            )
        }
        ("trace", &[Kind::Matrix(rows, cols)], &[m]) if rows == cols => {
            (Kind::Number, vec![chain(rows, |at| m[at * rows + at])])
        }
        ("get_diag", &[Kind::Matrix(rows, cols)], &[m]) if rows == cols => (
            Kind::Vector,
            (0..rows).map(|at| m[at * rows + at]).collect(),
        ),
        ("determinant", [Kind::Matrix(2, 2)], &[m]) => {
            (Kind::Number, vec![m[0] * m[3] - m[2] * m[1]])
        }
        ("ddot", &[Kind::Matrix(rows, cols), other], &[a, b]) if other == kinds[0] => {
            let sum = (0..rows * cols).fold(T::of(0.0), |sum, at| a[at].fused(b[at], sum));
            (Kind::Number, vec![sum])
        }
        ("outer", [Kind::Vector, Kind::Vector], &[a, b]) => {
            let parts = a.iter().flat_map(|a| b.iter().map(|b| *a * *b));
            (Kind::Matrix(a.len(), b.len()), parts.collect())
        }
        ("diag", [Kind::Vector], &[d]) => {
            let mut numbers = vec![T::of(0.0); d.len() * d.len()];
            for (at, number) in d.iter().enumerate() {
                numbers[at * d.len() + at] = *number;
            }
            (Kind::Matrix(d.len(), d.len()), numbers)
        }
        ("dot", [Kind::Quat, Kind::Quat], &[a, b]) => {
            (Kind::Number, vec![chain(4, |at| a[at] * b[at])])
        }
        ("length", [Kind::Quat], &[q]) => (Kind::Number, vec![chain(4, |at| q[at] * q[at]).root()]),
        ("normalize", [Kind::Quat], &[q]) => {
            let length = chain(4, |at| q[at] * q[at]).root();
            let (zero, one) = (T::of(0.0), T::of(1.0));
            let by = one / length;
            match length > zero {
                true => (Kind::Quat, q.iter().map(|part| *part * by).collect()),
                false => (Kind::Quat, vec![zero, zero, zero, one]),
            }
        }
        ("quat_inverse", [Kind::Quat], &[q]) => (Kind::Quat, conjugate(q)),
        ("quat_rotate", [Kind::Quat, Kind::Vector], &[q, x]) if x.len() == 3 => {
            (Kind::Vector, rotate(q, x, T::add))
        }
        ("quat_rotate_inv", [Kind::Quat, Kind::Vector], &[q, x]) if x.len() == 3 => {
            (Kind::Vector, rotate(q, x, T::sub))
        }
        ("transform_get_translation", [Kind::Transform], &[t]) => (Kind::Vector, t[..3].to_vec()),
        ("transform_get_rotation", [Kind::Transform], &[t]) => (Kind::Quat, t[3..].to_vec()),
        ("transform_multiply", [Kind::Transform, Kind::Transform], &[a, b]) => {
            let turned = rotate(&a[3..], &b[..3], T::add);
            let moved = turned.iter().zip(a).map(|(turned, a)| *turned + *a);
            let turn = quat_product(&a[3..], &b[3..]);
            (Kind::Transform, moved.chain(turn).collect())
        }
        ("transform_point", [Kind::Transform, Kind::Vector], &[t, x]) if x.len() == 3 => {
            let turned = rotate(&t[3..], x, T::add);
            let moved = t.iter().zip(turned).map(|(t, turned)| *t + turned);
            (Kind::Vector, moved.collect())
        }
        ("transform_vector", [Kind::Transform, Kind::Vector], &[t, x]) if x.len() == 3 => {
            (Kind::Vector, rotate(&t[3..], x, T::add))
        }
        ("transform_inverse", [Kind::Transform], &[t]) => {
            let inverse = conjugate(&t[3..]);
            let moved = rotate(&inverse, &t[..3], T::add);
            let moved = moved.into_iter().map(T::neg);
            (
                Kind::Transform,
                moved.chain(inverse.iter().copied()).collect(),
            )
        }
        _ => return None,
    };
    Some(Value { kind, numbers })
}

fn conjugate<T: Real>(q: &[T]) -> Vec<T> {
    vec![-q[0], -q[1], -q[2], q[3]]
}

fn quat_product<T: Real>(a: &[T], b: &[T]) -> Vec<T> {
    let part = |i: usize, j: usize, k: usize| a[3] * b[i] + b[3] * a[i] + a[j] * b[k] - b[j] * a[k];
    let real = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2];
    vec![part(0, 1, 2), part(1, 2, 0), part(2, 0, 1), real]
}

/// A vector turned by a quaternion; `across` is a difference where it is turned back.
fn rotate<T: Real>(q: &[T], x: &[T], across: fn(T, T) -> T) -> Vec<T> {
    let (one, two) = (T::of(1.0), T::of(2.0));
    let c = two * q[3] * q[3] - one;
    let d = two * (q[0] * x[0] + q[1] * x[1] + q[2] * x[2]);
    let part = |i: usize, j: usize, k: usize| {
        across(
            x[i] * c + q[i] * d,
            (q[j] * x[k] - q[k] * x[j]) * q[3] * two,
        )
    };
    vec![part(0, 1, 2), part(1, 2, 0), part(2, 0, 1)]
}
