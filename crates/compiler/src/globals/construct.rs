//! Values that calls of types make: scalars, vectors, matrices, quaternions, transforms and instances of structs.

use super::comprehension::comprehended;
use super::evaluate::{OPAQUE, evaluate};
use super::value::Tables;
use super::{Global, Scope, round_to};
use crate::syntax::{ComprehensionKind, ExprId, ExprKind};
use warpsmith_ir::types::{Scalar, Type, TypeId};
use warpsmith_ir::{Constant, Number};

/// An argument of a call; a list or tuple of numbers becomes a run of them.
pub(super) fn argument(scope: &mut Scope, tables: &mut Tables<'_>, arg: ExprId) -> Global {
    let arg = match tables.tree.expr(arg).kind {
        ExprKind::Comprehension {
            kind: ComprehensionKind::List,
            ..
        } => comprehended(scope, tables, arg).unwrap_or(arg),
        _ => arg,
    };
    let (ExprKind::Tuple(list) | ExprKind::ListDisplay(list)) = tables.tree.expr(arg).kind else {
        return evaluate(scope, tables, arg);
    };
    let mut numbers = Vec::with_capacity(list.len as usize);
    for at in list.start..list.start + list.len {
        let item = tables.tree.expr_lists[at as usize];
        match argument(scope, tables, item) {
            Global::Value(Constant::Number(number)) => numbers.push(number),
            Global::Value(Constant::Compound { ty, start, len }) if ty == TypeId::SLICE => {
                numbers.extend_from_slice(&scope.elements[start as usize..][..len as usize]);
            }
            _ => return OPAQUE,
        }
    }
    let start = scope.elements.len() as u32;
    scope.elements.extend_from_slice(&numbers);
    // No value has this type: it marks a run of plain numbers, which only a constructor takes.
    Global::Value(Constant::Compound {
        ty: TypeId::SLICE,
        start,
        len: numbers.len() as u32,
    })
}

/// The identity quaternion or transform: zeros and a last one.
pub(super) fn identity(scope: &mut Scope, tables: &mut Tables<'_>, ty: Type, len: u32) -> Global {
    let start = scope.elements.len() as u32;
    for at in 1..=len {
        scope
            .elements
            .push(Number::Float(if at == len { 1.0 } else { 0.0 }));
    }
    let ty = tables.types.intern(ty);
    Global::Value(Constant::Compound { ty, start, len })
}

/// A scalar, vector or matrix made from numbers on the host side.
pub(super) fn construct(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    ty: TypeId,
    values: &[Global],
) -> Global {
    if values.is_empty()
        && let Some(instance) = scope.new_instance(tables.types, ty)
    {
        return Global::Instance(instance);
    }
    let mut numbers = Vec::with_capacity(values.len());
    let mut runs = 0;
    for value in values {
        match value {
            Global::Value(Constant::Number(number) | Constant::Typed(_, number)) => {
                numbers.push(*number);
            }
            Global::Value(Constant::Bool(value))
                if tables.types.scalar_of(ty) == Some(Scalar::Bool) =>
            {
                numbers.push(Number::Int(i128::from(*value)));
            }
            Global::Value(Constant::Compound { start, len, .. }) => {
                runs += 1;
                numbers.extend_from_slice(&scope.elements[*start as usize..][..*len as usize]);
            }
            _ => return OPAQUE,
        }
    }
    let (count, scalar) = match tables.types.get(ty) {
        Type::Scalar(Scalar::Bool) if numbers.len() == 1 && runs == 0 => {
            let truth = Constant::Number(numbers[0]).truth();
            return truth.map_or(OPAQUE, |truth| Global::Value(Constant::Bool(truth)));
        }
        // A fraction is no integer.
        Type::Scalar(scalar)
            if numbers.len() == 1
                && runs == 0
                && (scalar.is_float() || matches!(numbers[0], Number::Int(_))) =>
        {
            return Global::Value(Constant::Typed(scalar, numbers[0]));
        }
        Type::Vector { length, scalar } => (length as usize, scalar),
        Type::Matrix { rows, cols, scalar } => ((rows * cols) as usize, scalar),
        Type::Quat(scalar) => (4, scalar),
        Type::Transform(_) if numbers.is_empty() => {
            let kind = tables.types.get(ty);
            return identity(scope, tables, kind, 7);
        }
        Type::Transform(scalar) => (7, scalar),
        _ => return OPAQUE,
    };
    // Parts make up the whole, all of them lists or vectors; a vector is copied from one part.
    let parts = match tables.types.get(ty) {
        Type::Vector { .. } | Type::Quat(_) => runs == 1,
        Type::Transform(_) => runs == 2,
        _ => runs > 0,
    };
    if runs > 0 && (runs != values.len() || numbers.len() != count || !parts) {
        return OPAQUE;
    }
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
