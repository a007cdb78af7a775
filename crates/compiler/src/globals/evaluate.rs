//! Evaluating module-level expressions.

use super::value::{Tables, attribute, dotted_path, fallback};
use super::{Global, Scope, round_to};
use crate::ir::{Constant, Number};
use crate::syntax::{BinaryOp, ExprId, ExprKind, List, UnaryOp};
use crate::types::{Scalar, Type, TypeId};

const OPAQUE: Global = Global::Opaque("an expression that only Python can evaluate");

/// The value of a module-level expression; [`Global::Opaque`] where it cannot be worked out.
pub(crate) fn evaluate(scope: &mut Scope, tables: &mut Tables<'_>, expr: ExprId) -> Global {
    match tables.tree.expr(expr).kind {
        ExprKind::Int(value) => Global::Value(Constant::Number(Number::Int(value))),
        ExprKind::Float(value) => Global::Value(Constant::Number(Number::Float(value))),
        ExprKind::Bool(value) => Global::Value(Constant::Bool(value)),
        ExprKind::Str(text) => Global::Value(Constant::Str(text)),
        ExprKind::Name(_) | ExprKind::Attribute(..) => path(scope, tables, expr),
        ExprKind::Unary(UnaryOp::Minus, operand) => match evaluate(scope, tables, operand) {
            Global::Value(Constant::Number(Number::Int(value))) => {
                Global::Value(Constant::Number(Number::Int(-value)))
            }
            Global::Value(Constant::Number(Number::Float(value))) => {
                Global::Value(Constant::Number(Number::Float(-value)))
            }
            _ => OPAQUE,
        },
        ExprKind::Binary(op, left, right) => {
            let left = evaluate(scope, tables, left);
            let right = evaluate(scope, tables, right);
            match (left, right) {
                (Global::Value(Constant::Number(left)), Global::Value(Constant::Number(right))) => {
                    arithmetic(op, left, right)
                        .map_or(OPAQUE, |value| Global::Value(Constant::Number(value)))
                }
                _ => OPAQUE,
            }
        }
        ExprKind::Call {
            func,
            args,
            keywords,
        } => call(scope, tables, func, args, keywords),
        ExprKind::Subscript(..) => match super::annotation::array_subscript(scope, tables, expr) {
            Some(ty) => Global::Type(ty),
            None => OPAQUE,
        },
        _ => OPAQUE,
    }
}

/// A name or dotted path at module level.
pub(crate) fn path(scope: &Scope, tables: &mut Tables<'_>, expr: ExprId) -> Global {
    let mut attributes = Vec::new();
    let Some(root) = dotted_path(tables.tree, expr, &mut attributes) else {
        return OPAQUE;
    };
    let Some(mut value) = scope
        .get(root)
        .or_else(|| fallback(root, tables.names, tables.types))
    else {
        return Global::Opaque("a name that is not defined");
    };
    for attr in attributes {
        match attribute(value, attr, tables.names, tables.types) {
            Some(next) => value = next,
            None => return OPAQUE,
        }
    }
    value
}

fn call(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    func: ExprId,
    args: List,
    keywords: List,
) -> Global {
    let callee = match tables.tree.expr(func).kind {
        ExprKind::Call { .. } => evaluate(scope, tables, func),
        _ => path(scope, tables, func),
    };
    let values: Vec<Global> = tables
        .tree
        .exprs_in(args)
        .to_vec()
        .into_iter()
        .map(|arg| evaluate(scope, tables, arg))
        .collect();
    match callee {
        Global::WarpCallable(name) => match tables.names.get(name) {
            "constant" if values.len() == 1 && keywords.len == 0 => values[0],
            _ => match super::annotation::type_call(scope, tables, name, args, keywords) {
                Some(ty) => Global::Type(ty),
                None => OPAQUE,
            },
        },
        Global::Type(ty) if keywords.len == 0 => construct(scope, tables, ty, &values),
        Global::PythonType(ty) if keywords.len == 0 && values.len() == 1 => {
            python_cast(ty, values[0], tables)
        }
        _ => OPAQUE,
    }
}

/// `float(x)` and `int(x)` of numbers, and `float("inf")`.
fn python_cast(ty: TypeId, value: Global, tables: &Tables<'_>) -> Global {
    let number = match value {
        Global::Value(Constant::Number(number)) => number,
        Global::Value(Constant::Str(text)) if ty == TypeId::F32 => {
            match tables.names.get(text).trim().to_ascii_lowercase().as_str() {
                "inf" | "+inf" | "infinity" => Number::Float(f64::INFINITY),
                "-inf" | "-infinity" => Number::Float(f64::NEG_INFINITY),
                "nan" => Number::Float(f64::NAN),
                _ => return OPAQUE,
            }
        }
        _ => return OPAQUE,
    };
    let number = match (ty, number) {
        (TypeId::F32, Number::Int(value)) => Number::Float(value as f64),
        (TypeId::F32, float @ Number::Float(_)) | (TypeId::I32, float @ Number::Int(_)) => float,
        (TypeId::I32, Number::Float(value)) if value.abs() < 1e30 => {
            Number::Int(value.trunc() as i128)
        }
        _ => return OPAQUE,
    };
    Global::Value(Constant::Number(number))
}

/// A scalar, vector or matrix made from numbers on the host side.
fn construct(scope: &mut Scope, tables: &mut Tables<'_>, ty: TypeId, values: &[Global]) -> Global {
    let mut numbers = Vec::with_capacity(values.len());
    for value in values {
        numbers.push(match value {
            Global::Value(Constant::Number(number) | Constant::Typed(_, number)) => *number,
            Global::Value(Constant::Bool(value))
                if tables.types.scalar_of(ty) == Some(Scalar::Bool) =>
            {
                Number::Int(i128::from(*value))
            }
            _ => return OPAQUE,
        });
    }
    let (count, scalar) = match tables.types.get(ty) {
        Type::Scalar(scalar) if scalar != Scalar::Bool && numbers.len() == 1 => {
            return Global::Value(Constant::Typed(scalar, numbers[0]));
        }
        Type::Vector { length, scalar } => (length as usize, scalar),
        Type::Matrix { rows, cols, scalar } => ((rows * cols) as usize, scalar),
        Type::Quat(scalar) if numbers.len() == 4 => (4, scalar),
        _ => return OPAQUE,
    };
    match numbers.len() {
        0 => numbers = vec![Number::Int(0); count],
        1 => numbers = vec![numbers[0]; count],
        n if n == count => {}
        _ => return OPAQUE,
    }
    let start = scope.elements.len() as u32;
    for number in &numbers {
        match round_to(scalar, *number) {
            Some(number) => scope.elements.push(number),
            None => {
                scope.elements.truncate(start as usize);
                return OPAQUE;
            }
        }
    }
    Global::Value(Constant::Compound {
        ty,
        start,
        len: count as u32,
    })
}

/// Python's arithmetic on numbers.
fn arithmetic(op: BinaryOp, left: Number, right: Number) -> Option<Number> {
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
    let as_float = |number| match number {
        Number::Int(value) => value as f64,
        Number::Float(value) => value,
    };
    let (a, b) = (as_float(left), as_float(right));
    Some(Number::Float(match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div if b != 0.0 => a / b,
        _ => return None,
    }))
}
