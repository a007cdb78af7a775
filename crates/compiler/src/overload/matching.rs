//! Matching an argument list to an overload.

use warpsmith_ir::builtin::{Default, Param, Pattern, Row, Rule};
use warpsmith_ir::names::Names;
use warpsmith_ir::types::{Scalar, Type, TypeId, TypeTable};

/// The most parameters of any overload.
pub(crate) const MAX_PARAMS: usize = 24;

/// What is bound to a parameter: the position of an argument (keywords follow the positional ones), or
/// nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    Arg(u8),
    Missing,
}

/// The overload that was found, with what is bound to each of its parameters. The variadic parameter
/// itself is [`Bound::Missing`]; its values are the positional arguments from `variadic_start` on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Selected {
    pub(crate) row: usize,
    pub(crate) bound: [Bound; MAX_PARAMS],
    pub(crate) variadic_start: usize,
}

/// The first overload that takes the arguments: `positional` types, then `keywords` by name.
pub(crate) fn select(
    rows: &[Row],
    types: &TypeTable,
    positional: &[TypeId],
    keywords: &[(&str, TypeId)],
    outputs: Option<usize>,
) -> Option<Selected> {
    rows.iter().enumerate().find_map(|(index, row)| {
        let selected = bind(row, index, positional.len(), keywords)?;
        if !row.variadic {
            for (param, bound) in row.params.iter().zip(selected.bound) {
                if let Bound::Arg(at) = bound {
                    let at = usize::from(at);
                    let ty = match positional.get(at) {
                        Some(ty) => *ty,
                        None => keywords[at - positional.len()].1,
                    };
                    if !matches(types, param.pattern, ty, row.rule) {
                        return None;
                    }
                }
            }
        }
        if let Some(count) = outputs
            && row.rule.several_results() != Some(count)
        {
            return None;
        }
        Some(selected)
    })
}

/// As [`select`], for positional arguments alone; gives the overload's position, and `None` too where the
/// overload is variadic.
pub(crate) fn select_plain(
    rows: &[Row],
    types: &TypeTable,
    positional: &[TypeId],
    outputs: Option<usize>,
) -> Option<usize> {
    let mut kinds = [Type::Range; 8];
    for (kind, ty) in kinds.iter_mut().zip(positional) {
        *kind = types.get(*ty);
    }
    let kinds = kinds.get(..positional.len())?;
    for (index, row) in rows.iter().enumerate() {
        if row.variadic {
            return None;
        }
        let Some((given, left)) = row.params.split_at_checked(kinds.len()) else {
            continue;
        };
        let fits = given
            .iter()
            .zip(kinds)
            .all(|(param, kind)| matches_kind(types, param.pattern, *kind, row.rule))
            && left.iter().all(|param| param.default != Default::Required)
            && outputs.is_none_or(|count| row.rule.several_results() == Some(count));
        if fits {
            return Some(index);
        }
    }
    None
}

/// Python's own binding of arguments to parameters.
fn bind(
    row: &Row,
    index: usize,
    positional: usize,
    keywords: &[(&str, TypeId)],
) -> Option<Selected> {
    let mut bound = [Bound::Missing; MAX_PARAMS];
    let variadic = row
        .variadic
        .then(|| row.params.iter().position(is_variadic))
        .flatten();
    let limit = variadic.unwrap_or(row.params.len());
    if positional > limit && variadic.is_none() {
        return None;
    }
    let variadic_start = positional.min(limit);
    for (at, slot) in bound.iter_mut().enumerate().take(variadic_start) {
        *slot = Bound::Arg(at as u8);
    }
    for (at, (name, _)) in keywords.iter().enumerate() {
        let param = row.params.iter().position(|param| param.name == *name)?;
        if bound[param] != Bound::Missing || Some(param) == variadic {
            return None;
        }
        bound[param] = Bound::Arg((positional + at) as u8);
    }
    for (at, param) in row.params.iter().enumerate() {
        if bound[at] == Bound::Missing && param.default == Default::Required && Some(at) != variadic
        {
            return None;
        }
    }
    Some(Selected {
        row: index,
        bound,
        variadic_start,
    })
}

fn is_variadic(param: &Param) -> bool {
    param.name == "args"
}

/// Whether a parameter takes a value of this type.
fn matches(types: &TypeTable, pattern: Pattern, ty: TypeId, rule: Rule) -> bool {
    matches_kind(types, pattern, types.get(ty), rule)
}

fn matches_kind(types: &TypeTable, pattern: Pattern, kind: Type, rule: Rule) -> bool {
    match (pattern, kind) {
        (Pattern::Any, _) => true,
        (Pattern::Scalar(want), Type::Scalar(have))
        | (Pattern::Quat(want), Type::Quat(have))
        | (Pattern::Transform(want), Type::Transform(have)) => want.accepts(have),
        (Pattern::Vector(n, want), Type::Vector { length, scalar }) => {
            (n == 0 || n == length) && want.accepts(scalar)
        }
        (Pattern::Matrix(r, c, want), Type::Matrix { rows, cols, scalar }) => {
            (r == 0 || r == rows) && (c == 0 || c == cols) && want.accepts(scalar)
        }
        (Pattern::Array(want), Type::Array { element, .. } | Type::FixedArray { element, .. }) => {
            match (want, types.get(element)) {
                (Scalar::Any, _) => true,
                (want, Type::Scalar(have)) => want.accepts(have),
                _ => false,
            }
        }
        // Every other builtin wants an array that lies in memory as it is.
        (Pattern::Array(Scalar::Any), Type::MappedArray { .. }) => matches!(
            rule,
            Rule::Address | Rule::View | Rule::ArrayStore | Rule::Atomic | Rule::AtomicCompare
        ),
        (Pattern::Query(want), Type::Query(have)) => want == have,
        (Pattern::Str, Type::Str)
        | (Pattern::Range, Type::Range)
        | (Pattern::Shape, Type::Shape)
        | (Pattern::AnyTuple, Type::Tuple(_)) => true,
        (Pattern::IntTuple, Type::Tuple(index)) => types
            .tuple_parts(index)
            .iter()
            .all(|part| *part == TypeId::I32),
        (Pattern::IntPair, Type::Tuple(index)) => {
            types.tuple_parts(index) == [TypeId::I32, TypeId::I32]
        }
        _ => false,
    }
}

/// The pattern as a message shows it.
pub(crate) fn describe_types(types: &TypeTable, names: &Names, args: &[TypeId]) -> String {
    let parts: Vec<String> = args.iter().map(|ty| types.describe(*ty, names)).collect();
    parts.join(", ")
}
