//! Types written in the source: annotations, aliases, the types given to `wp.overload`.

use super::definition::Returns;
use super::evaluate::{evaluate, path};
use super::value::Tables;
use super::{Global, Scope};
use crate::diagnostic::Problem;
use crate::syntax::{ExprId, ExprKind, List};
use warpsmith_ir::names::Name;
use warpsmith_ir::types::{Extent, Mapping, Query, Scalar, Tile, Type, TypeId};
use warpsmith_ir::{Constant, Number};

/// The type that an expression names.
pub(crate) fn type_of(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    expr: ExprId,
) -> Result<TypeId, Problem> {
    if let ExprKind::Subscript(base, parts) = tables.tree.expr(expr).kind
        && is_tuple(scope, tables, base)
    {
        return tuple_of(scope, tables, parts);
    }
    if let Some(query) = grid_query(scope, tables, expr) {
        return Ok(tables.types.intern(Type::Query(query)));
    }
    match evaluate(scope, tables, expr) {
        Global::Type(ty) if is_fabric_of_python(scope, tables, expr) => {
            Ok(tables.types.with_python_types(ty, 1))
        }
        Global::Type(ty) | Global::PythonType(ty) => Ok(ty),
        Global::Handle => Ok(TypeId::U64),
        _ => {
            let node = tables.tree.expr(expr);
            if let Some(what) = scope.captured_in(tables.tree, tables.names, expr) {
                return Err(Problem::at("K023", node.start, node.end, what));
            }
            let (part, why) = unknown_part(scope, tables, expr)
                .unwrap_or((expr, "not a type that is supported here"));
            let node = tables.tree.expr(part);
            let text = tables
                .text
                .get(node.start as usize..node.end as usize)
                .unwrap_or("");
            Err(Problem::at(
                "K004",
                node.start,
                node.end,
                format!("`{text}` is {why}"),
            )
            .hint(
                "scalars, vectors, matrices, quaternions, transforms, structs, and arrays of these",
            ))
        }
    }
}

/// The name in an annotation that stands for no type, and what it is instead.
fn unknown_part(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    expr: ExprId,
) -> Option<(ExprId, &'static str)> {
    match tables.tree.expr(expr).kind {
        ExprKind::Name(_) | ExprKind::Attribute(..) => match evaluate(scope, tables, expr) {
            Global::Opaque(what) => Some((expr, what)),
            _ => None,
        },
        ExprKind::Subscript(_, item) => unknown_part(scope, tables, item),
        ExprKind::Call { args, keywords, .. } => {
            let mut values = tables.tree.exprs_in(args).to_vec();
            let named = tables.tree.keywords_in(keywords).iter();
            values.extend(named.map(|keyword| keyword.value));
            let mut values = values.into_iter();
            values.find_map(|value| unknown_part(scope, tables, value))
        }
        _ => None,
    }
}

/// Whether a type is a Fabric array whose elements Warp writes by their Python names: one that is made by a call.
fn is_fabric_of_python(scope: &mut Scope, tables: &mut Tables<'_>, expr: ExprId) -> bool {
    let ExprKind::Call { func, keywords, .. } = tables.tree.expr(expr).kind else {
        return false;
    };
    let Global::WarpCallable(class) = path(scope, tables, func) else {
        return false;
    };
    if !tables.names.get(class).contains("fabricarray") {
        return false;
    }
    let mut keywords = tables.tree.keywords_in(keywords).iter();
    let is_dtype = |name: Name| tables.names.get(name) == "dtype";
    let dtype = keywords.find(|keyword| keyword.name.is_some_and(is_dtype));
    let dtype = dtype.map(|keyword| keyword.value);
    dtype.is_some_and(|dtype| matches!(evaluate(scope, tables, dtype), Global::PythonType(_)))
}

/// `wp.HashGridQuery[wp.float64]`: a search in a hash grid whose coordinates have this type.
fn grid_query(scope: &mut Scope, tables: &mut Tables<'_>, expr: ExprId) -> Option<Query> {
    let ExprKind::Subscript(base, scalar) = tables.tree.expr(expr).kind else {
        return None;
    };
    let Global::Type(class) = path(scope, tables, base) else {
        return None;
    };
    if tables.types.get(class) != Type::Query(Query::HashGrid) {
        return None;
    }
    let (Global::Type(scalar) | Global::PythonType(scalar)) = evaluate(scope, tables, scalar)
    else {
        return None;
    };
    match tables.types.get(scalar) {
        Type::Scalar(Scalar::F16) => Some(Query::HashGridHalf),
        Type::Scalar(Scalar::F32) => Some(Query::HashGrid),
        Type::Scalar(Scalar::F64) => Some(Query::HashGridDouble),
        _ => None,
    }
}

/// The tuple that `tuple[…]` names as the type of a parameter. One of any length is generic.
fn tuple_of(scope: &mut Scope, tables: &mut Tables<'_>, parts: ExprId) -> Result<TypeId, Problem> {
    let items = match tables.tree.expr(parts).kind {
        ExprKind::Tuple(list) => tables.tree.exprs_in(list).to_vec(),
        _ => vec![parts],
    };
    let is_rest = |item: &ExprId| tables.tree.expr(*item).kind == ExprKind::Unsupported("`...`");
    if let [_, rest] = &items[..]
        && is_rest(rest)
    {
        return Ok(TypeId::scalar(Scalar::Any));
    }
    let mut types = Vec::with_capacity(items.len());
    let mut which = 0;
    for (at, item) in items.into_iter().enumerate() {
        // Warp writes Python's own types by their own names here.
        if matches!(evaluate(scope, tables, item), Global::PythonType(_)) && at < 64 {
            which |= 1 << at;
        }
        types.push(type_of(scope, tables, item)?);
    }
    let plain = tables.types.tuple(&types);
    Ok(match which {
        0 => plain,
        _ => tables.types.with_python_types(plain, which),
    })
}

/// What a return annotation says.
pub(crate) fn returns(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    expr: ExprId,
) -> Result<Returns, Problem> {
    let parts = match tables.tree.expr(expr).kind {
        ExprKind::None => return Ok(Returns::Inferred),
        ExprKind::Subscript(base, slice) if is_tuple(scope, tables, base) => {
            match tables.tree.expr(slice).kind {
                ExprKind::Tuple(list) => tables.tree.exprs_in(list).to_vec(),
                _ => vec![slice],
            }
        }
        _ => vec![expr],
    };
    let (mut types, mut python) = (Vec::with_capacity(parts.len()), 0);
    for (at, part) in parts.into_iter().enumerate() {
        if at < 64 && matches!(evaluate(scope, tables, part), Global::PythonType(_)) {
            python |= 1 << at;
        }
        types.push(type_of(scope, tables, part)?);
    }
    Ok(Returns::Types(types, python))
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

/// How an array class reaches its elements, its rank, and whether the class fixes that.
fn array_class(class: &str) -> Option<(Option<Mapping>, u8, bool)> {
    let plain = |rank| (None, rank, true);
    let indexed = |rank| (Some(Mapping::Indexed), rank, true);
    Some(match class {
        "array" => (None, 1, false),
        "array1d" => plain(1),
        "array2d" => plain(2),
        "array3d" => plain(3),
        "array4d" => plain(4),
        "indexedarray1d" => indexed(1),
        "indexedarray2d" => indexed(2),
        "indexedarray3d" => indexed(3),
        "indexedarray4d" => indexed(4),
        "fabricarrayarray" => (Some(Mapping::Fabric), 2, true),
        "indexedfabricarrayarray" => (Some(Mapping::IndexedFabric), 2, true),
        _ => (Some(Mapping::from_class(class)?), 1, false),
    })
}

fn array_type(
    tables: &mut Tables<'_>,
    mapping: Option<Mapping>,
    element: TypeId,
    rank: u8,
) -> TypeId {
    tables.types.intern(match mapping {
        None => Type::Array { element, rank },
        Some(mapping) => Type::MappedArray {
            mapping,
            element,
            rank,
        },
    })
}

/// The rank in `Literal[2]`.
fn literal_rank(scope: &mut Scope, tables: &mut Tables<'_>, expr: ExprId) -> Option<u8> {
    let number = literal(tables, expr)?;
    match dimension(scope, tables, number)? {
        rank @ 1..=4 => Some(rank as u8),
        _ => None,
    }
}

/// What stands in `Literal[…]`.
fn literal(tables: &Tables<'_>, expr: ExprId) -> Option<ExprId> {
    let ExprKind::Subscript(base, number) = tables.tree.expr(expr).kind else {
        return None;
    };
    let (ExprKind::Name(name) | ExprKind::Attribute(_, name)) = tables.tree.expr(base).kind else {
        return None;
    };
    (tables.names.get(name) == "Literal").then_some(number)
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
    let class = match path(scope, tables, base) {
        Global::WarpCallable(class) => class,
        Global::Builtin(index) => Name::of_builtin(index),
        _ => return None,
    };
    let class = tables.names.get(class).to_owned();
    if class == "tile" {
        return tile_subscript(scope, tables, slice);
    }
    // The classes with `arrayarray` are functions.
    if class.ends_with("arrayarray") {
        return None;
    }
    let (mapping, mut rank, fixed) = array_class(&class)?;
    let mut element = slice;
    if let ExprKind::Tuple(list) = tables.tree.expr(slice).kind {
        let [first, second] = *tables.tree.exprs_in(list) else {
            return None;
        };
        if fixed {
            return None;
        }
        element = first;
        rank = literal_rank(scope, tables, second)?;
    }
    let element = element_type(scope, tables, element)?;
    Some(array_type(tables, mapping, element, rank))
}

/// `wp.tile[float, 8, 4]`, and `wp.tile[float]` of any shape.
fn tile_subscript(scope: &mut Scope, tables: &mut Tables<'_>, slice: ExprId) -> Option<TypeId> {
    let mut parts = match tables.tree.expr(slice).kind {
        ExprKind::Tuple(list) => tables.tree.exprs_in(list).to_vec(),
        _ => vec![slice],
    };
    let element = element_type(scope, tables, *parts.first()?)?;
    if matches!(tables.types.get(element), Type::Struct(_) | Type::Query(_)) {
        return None;
    }
    parts.remove(0);
    if let [shape] = *parts
        && let ExprKind::Tuple(list) = tables.tree.expr(shape).kind
    {
        parts = tables.tree.exprs_in(list).to_vec();
    }
    let mut shape = Vec::with_capacity(parts.len());
    for part in parts {
        let number = match literal(tables, part) {
            Some(number) => number,
            None => part,
        };
        let length = dimension(scope, tables, number).filter(|length| *length > 0)?;
        shape.push(Extent::fixed(i64::from(length)));
    }
    Some(tables.types.tile(Tile::dense(element, shape, false)))
}

fn element_type(scope: &mut Scope, tables: &mut Tables<'_>, expr: ExprId) -> Option<TypeId> {
    let element = type_of(scope, tables, expr).ok()?;
    match tables.types.get(element) {
        Type::Scalar(_)
        | Type::Vector { .. }
        | Type::Matrix { .. }
        | Type::Quat(_)
        | Type::Transform(_)
        | Type::Struct(_)
        | Type::Query(Query::Texture1 | Query::Texture2 | Query::Texture3) => Some(element),
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
    if let Some((mapping, rank, fixed)) = array_class(&class) {
        if shape.is_some() || (fixed && number.is_some()) {
            return None;
        }
        let rank = match number {
            Some(rank @ 1..=4) => rank as u8,
            Some(_) => return None,
            None => rank,
        };
        let element = element_type(scope, tables, dtype?)?;
        return Some(array_type(tables, mapping, element, rank));
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
