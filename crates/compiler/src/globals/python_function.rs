//! Functions of Python that the module's own text may call while it is read: those whose results do not depend on a
//! mathematics library.

use super::arithmetic::{arithmetic, compare};
use super::comprehension::is_named;
use super::display::items;
use super::evaluate::{OPAQUE, evaluate, path};
use super::value::Tables;
use super::{Global, PythonModule, Scope};
use crate::syntax::{BinaryOp, ExprId, ExprKind};
use warpsmith_ir::names::Name;
use warpsmith_ir::types::TypeId;
use warpsmith_ir::{Comparison, Constant, Number};

/// `sum`, `min` and `max` of a display of numbers, `any` and `all` of one.
pub(super) fn of_items(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    name: Name,
    arg: ExprId,
) -> Option<Constant> {
    let which = ["sum", "min", "max", "any", "all"];
    let which = which
        .iter()
        .find(|known| **known == tables.names.get(name))?;
    let mut numbers = Vec::new();
    let mut truths = Vec::new();
    let items = items(scope, tables, arg)?;
    let outer = is_named(tables, arg).then(|| scope.enter_closure(scope.module(), &[]));
    for item in items {
        match evaluate(scope, tables, item) {
            Global::Value(value) => {
                truths.push(value.truth());
                numbers.push(match value {
                    Constant::Number(number) => Some(number),
                    _ => None,
                });
            }
            _ => truths.push(None),
        }
    }
    if let Some(outer) = outer {
        scope.leave_closure(outer);
    }
    if let "any" | "all" = *which {
        let truths: Option<Vec<bool>> = truths.into_iter().collect();
        let mut truths = truths?.into_iter();
        return Some(Constant::Bool(match *which {
            "any" => truths.any(|truth| truth),
            _ => truths.all(|truth| truth),
        }));
    }
    if numbers.len() != truths.len() {
        return None;
    }
    let numbers = numbers.into_iter().collect::<Option<Vec<Number>>>()?;
    if *which == "sum" {
        return sum(&numbers).map(Constant::Number);
    }
    let op = match *which {
        "min" => Comparison::Less,
        _ => Comparison::Greater,
    };
    let mut numbers = numbers.into_iter();
    let first = numbers.next()?;
    Some(Constant::Number(numbers.fold(first, |best, number| {
        if compare(op, number, best) {
            number
        } else {
            best
        }
    })))
}

/// The sum of numbers. One on which versions of Python differ is left out: newer ones carry along what adding floats
/// has lost.
fn sum(numbers: &[Number]) -> Option<Number> {
    let mut sum = Number::Int(0);
    let mut lost = 0.0;
    for number in numbers {
        let next = arithmetic(BinaryOp::Add, sum, *number)?;
        if let (Number::Float(next), Number::Float(x)) = (next, *number) {
            let before = match sum {
                Number::Float(value) => value,
                Number::Int(value) => value as f64,
            };
            lost += match before.abs() >= x.abs() {
                true => (before - next) + x,
                false => (x - next) + before,
            };
        }
        sum = next;
    }
    match sum {
        Number::Float(value) if value + lost != value => None,
        sum => Some(sum),
    }
}

/// Functions of Python whose results do not depend on a mathematics library.
pub(super) fn python_function(
    scope: &Scope,
    tables: &mut Tables<'_>,
    func: ExprId,
    values: &[Global],
) -> Option<Global> {
    if let ([Global::Value(Constant::Compound { ty, .. })], ExprKind::Name(name)) =
        (values, tables.tree.expr(func).kind)
    {
        let is_len = tables.names.get(name) == "len" && scope.get(name).is_none();
        let length = tables.types.fixed_length(*ty).filter(|_| is_len)?;
        return Some(Global::Value(Constant::Number(Number::Int(i128::from(
            length,
        )))));
    }
    let mut numbers = [0.0; 2];
    let mut integers = [None; 2];
    if values.is_empty() || values.len() > 2 {
        return None;
    }
    for (at, value) in values.iter().enumerate() {
        match value {
            Global::Value(Constant::Number(Number::Float(value))) => numbers[at] = *value,
            Global::Value(Constant::Number(Number::Int(value))) => {
                numbers[at] = *value as f64;
                integers[at] = Some(*value);
            }
            _ => return None,
        }
    }
    let [a, b] = numbers;
    let float = |value| Some(Global::Value(Constant::Number(Number::Float(value))));
    match tables.tree.expr(func).kind {
        ExprKind::Attribute(base, name)
            if path(scope, tables, base) == Global::Module(PythonModule::Math) =>
        {
            match (tables.names.get(name), values.len()) {
                ("sqrt", 1) if a >= 0.0 => float(a.sqrt()),
                ("fabs", 1) => float(a.abs()),
                ("radians", 1) => float(a * (std::f64::consts::PI / 180.0)),
                ("degrees", 1) => float(a * (180.0 / std::f64::consts::PI)),
                _ => None,
            }
        }
        ExprKind::Name(name) if scope.get(name).is_none() => {
            let second = match (tables.names.get(name), values.len()) {
                ("abs", 1) => {
                    return match integers[0] {
                        Some(value) => {
                            Some(Global::Value(Constant::Number(Number::Int(value.abs()))))
                        }
                        None => float(a.abs()),
                    };
                }
                // Half goes to the even neighbour.
                ("round", 1) if a.abs() < 1e15 => {
                    let rounded = a.round_ties_even() as i128;
                    return Some(Global::Value(Constant::Number(Number::Int(rounded))));
                }
                ("min", 2) => b < a,
                ("max", 2) => b > a,
                _ => return None,
            };
            Some(values[usize::from(second)])
        }
        _ => None,
    }
}

/// `float(x)` and `int(x)` of numbers, and `float("inf")`.
pub(super) fn python_cast(ty: TypeId, value: Global, tables: &Tables<'_>) -> Global {
    let number = match value {
        Global::Value(constant @ (Constant::Number(_) | Constant::Bool(_)))
            if ty == TypeId::BOOL =>
        {
            return constant
                .truth()
                .map_or(OPAQUE, |truth| Global::Value(Constant::Bool(truth)));
        }
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
