//! Types written in the source: annotations, aliases, the types given to `wp.overload`.

use super::definition::Returns;
use super::evaluate::{evaluate, path};
use super::value::Tables;
use super::{Global, Scope};
use crate::diagnostic::Problem;
use crate::ir::{Constant, Number};
use crate::names::Name;
use crate::syntax::{ExprId, ExprKind, List};
use crate::types::{Scalar, Type, TypeId};

/// The type that an expression names.
pub(crate) fn type_of(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    expr: ExprId,
) -> Result<TypeId, Problem> {
    match evaluate(scope, tables, expr) {
        Global::Type(ty) | Global::PythonType(ty) => Ok(ty),
        Global::Handle => Ok(TypeId::U64),
        _ => {
            let node = tables.tree.expr(expr);
            let text = tables
                .text
                .get(node.start as usize..node.end as usize)
                .unwrap_or("");
            Err(Problem::at(
                "K004",
                node.start,
                node.end,
                format!("`{text}` is not a type that is supported here"),
            )
            .hint(
                "scalars, vectors, matrices, quaternions, transforms, structs, and arrays of these",
            ))
        }
    }
}

/// What a return annotation says.
pub(crate) fn returns(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    expr: ExprId,
) -> Result<Returns, Problem> {
    match tables.tree.expr(expr).kind {
        ExprKind::None => Ok(Returns::Inferred),
        ExprKind::Subscript(base, slice) if is_tuple(scope, tables, base) => {
            let parts = match tables.tree.expr(slice).kind {
                ExprKind::Tuple(list) => tables.tree.exprs_in(list).to_vec(),
                _ => vec![slice],
            };
            let types: Result<Vec<TypeId>, Problem> = parts
                .into_iter()
                .map(|part| type_of(scope, tables, part))
                .collect();
            Ok(Returns::Types(types?))
        }
        _ => Ok(Returns::Types(vec![type_of(scope, tables, expr)?])),
    }
}

fn is_tuple(scope: &Scope, tables: &mut Tables<'_>, base: ExprId) -> bool {
    if path(scope, tables, base) == Global::Tuple {
        return true;
    }
    match tables.tree.expr(base).kind {
        ExprKind::Name(name) => {
            scope.get(name).is_none() && matches!(tables.names.get(name), "tuple")
        }
        _ => false,
    }
}

/// The rank that an array class fixes.
fn array_rank(class: &str) -> Option<u8> {
    Some(match class {
        "array" | "array1d" => 1,
        "array2d" => 2,
        "array3d" => 3,
        "array4d" => 4,
        _ => return None,
    })
}

/// `wp.array2d[float]` and the like.
pub(crate) fn array_subscript(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    expr: ExprId,
) -> Option<TypeId> {
    let ExprKind::Subscript(base, slice) = tables.tree.expr(expr).kind else {
        return None;
    };
    let Global::WarpCallable(class) = path(scope, tables, base) else {
        return None;
    };
    let rank = array_rank(tables.names.get(class))?;
    let element = element_type(scope, tables, slice)?;
    Some(tables.types.intern(Type::Array { element, rank }))
}

fn element_type(scope: &mut Scope, tables: &mut Tables<'_>, expr: ExprId) -> Option<TypeId> {
    let element = type_of(scope, tables, expr).ok()?;
    match tables.types.get(element) {
        Type::Scalar(_)
        | Type::Vector { .. }
        | Type::Matrix { .. }
        | Type::Quat(_)
        | Type::Transform(_)
        | Type::Struct(_) => Some(element),
        _ => None,
    }
}

/// A call that makes a type: `wp.array(dtype=float, ndim=2)`, `wp.types.vector(length=5, dtype=…)`.
pub(crate) fn type_call(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    class: Name,
    args: List,
    keywords: List,
) -> Option<TypeId> {
    let class = tables.names.get(class).to_owned();
    let mut dtype = None;
    let mut number = None;
    let mut shape = None;
    let positional = tables.tree.exprs_in(args).to_vec();
    match (class.as_str(), positional.as_slice()) {
        (_, []) => {}
        ("vector", [length, scalar]) => {
            number = Some(dimension(scope, tables, *length)?);
            dtype = Some(*scalar);
        }
        ("matrix", [size, scalar]) => {
            shape = Some(*size);
            dtype = Some(*scalar);
        }
        ("quaternion" | "transformation", [scalar]) => dtype = Some(*scalar),
        _ => return None,
    }
    for keyword in tables.tree.keywords_in(keywords).to_vec() {
        match tables.names.get(keyword.name?) {
            "dtype" => dtype = Some(keyword.value),
            "ndim" | "length" => number = Some(dimension(scope, tables, keyword.value)?),
            "shape" => shape = Some(keyword.value),
            _ => return None,
        }
    }
    if let Some(rank) = array_rank(&class) {
        if shape.is_some() || (class != "array" && number.is_some()) {
            return None;
        }
        let rank = match number {
            Some(rank @ 1..=4) => rank as u8,
            Some(_) => return None,
            None => rank,
        };
        let element = element_type(scope, tables, dtype?)?;
        return Some(tables.types.intern(Type::Array { element, rank }));
    }
    let dtype = dtype?;
    if class == "fixedarray" {
        let (rank, dims) = fixed_shape(scope, tables, shape?)?;
        let element = element_type(scope, tables, dtype)?;
        return Some(tables.types.intern(Type::FixedArray {
            element,
            rank,
            dims,
        }));
    }
    // Python's own `float` is spelled differently in these two.
    if matches!(class.as_str(), "quaternion" | "transformation")
        && matches!(evaluate(scope, tables, dtype), Global::PythonType(_))
    {
        return None;
    }
    let dtype = type_of(scope, tables, dtype).ok()?;
    let Type::Scalar(scalar) = tables.types.get(dtype) else {
        return None;
    };
    // Warp makes no vector of `Any`; `wp.Float` and the like it does.
    if scalar == Scalar::Any {
        return None;
    }
    let ty = match class.as_str() {
        "vector" if shape.is_none() => Type::Vector {
            length: number?,
            scalar,
        },
        "matrix" if number.is_none() => {
            let ExprKind::Tuple(list) = tables.tree.expr(shape?).kind else {
                return None;
            };
            let [rows, cols] = *tables.tree.exprs_in(list) else {
                return None;
            };
            let rows = dimension(scope, tables, rows)?;
            let cols = dimension(scope, tables, cols)?;
            Type::Matrix { rows, cols, scalar }
        }
        "quaternion" => Type::Quat(scalar),
        "transformation" => Type::Transform(scalar),
        _ => return None,
    };
    Some(tables.types.intern(ty))
}

/// The shape of a fixed array: a number or a tuple of up to four.
fn fixed_shape(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    shape: ExprId,
) -> Option<(u8, [u32; 4])> {
    let mut dims = [0; 4];
    let ExprKind::Tuple(list) = tables.tree.expr(shape).kind else {
        dims[0] = dimension(scope, tables, shape).filter(|dim| *dim > 0)?;
        return Some((1, dims));
    };
    if list.len == 0 || list.len > 4 {
        return None;
    }
    for (at, dim) in dims.iter_mut().enumerate().take(list.len as usize) {
        let item = tables.tree.expr_lists[list.start as usize + at];
        *dim = dimension(scope, tables, item).filter(|seen| *seen > 0)?;
    }
    Some((list.len as u8, dims))
}

/// A positive number, or `Any` as 0.
fn dimension(scope: &mut Scope, tables: &mut Tables<'_>, expr: ExprId) -> Option<u32> {
    match evaluate(scope, tables, expr) {
        Global::Value(Constant::Number(Number::Int(value))) => {
            u32::try_from(value).ok().filter(|value| *value > 0)
        }
        Global::Type(ty) if ty == TypeId::scalar(Scalar::Any) => Some(0),
        _ => None,
    }
}
