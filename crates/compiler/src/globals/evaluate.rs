//! Evaluating module-level expressions.

use super::arithmetic::{arithmetic, compare, elementwise};
use super::comprehension::is_named;
use super::construct::{argument, construct, identity};
use super::display::{contains, element, items, length};
use super::host_call::{Given, HostFunction, call_function};
use super::instance::field_of;
use super::nested::GIVEN;
use super::python_function::{of_items, python_cast, python_function};
use super::value::{Tables, fallback, resolve_path};
use super::warp_value::{
    algebraic, combined, component, function, named_component, negative, of_scalars,
};
use super::{Global, PythonModule, Scope};
use crate::syntax::{BinaryOp, CompareOp, ExprId, ExprKind, List, UnaryOp};
use warpsmith_ir::builtin::BUILTINS;
use warpsmith_ir::names::Name;
use warpsmith_ir::types::{Scalar, Type, TypeId};
use warpsmith_ir::{Comparison, Constant, Number};

pub(super) const OPAQUE: Global = Global::Opaque("an expression that only Python can evaluate");

/// What an f-string gives whose values are not known.
pub(super) const TEXT: Global = Global::Opaque("a text that only Python can work out");

/// A module of Warp by its name, which no text says.
pub(super) const MODULE: Global = Global::Opaque("a module of Warp");

/// Bytes of a text that f-strings make.
const LONGEST_TEXT: usize = 1 << 12;

/// The value of a module-level expression; [`Global::Opaque`] where it cannot be worked out.
pub(crate) fn evaluate(scope: &mut Scope, tables: &mut Tables<'_>, expr: ExprId) -> Global {
    if let Some((_, value)) = tables.known.iter().find(|(known, _)| *known == expr) {
        return *value;
    }
    if let Some(value) = scope.known_value(expr) {
        return value;
    }
    match tables.tree.expr(expr).kind {
        ExprKind::Int(value) => Global::Value(Constant::Number(Number::Int(value))),
        ExprKind::Float(value) => Global::Value(Constant::Number(Number::Float(value))),
        ExprKind::Bool(value) => Global::Value(Constant::Bool(value)),
        ExprKind::Str(text) => Global::Value(Constant::Str(text)),
        ExprKind::Formatted(parts) => formatted(scope, tables, parts),
        ExprKind::None => Global::Nothing,
        ExprKind::Name(_) => path(scope, tables, expr),
        ExprKind::Attribute(base, attr) => match path(scope, tables, expr) {
            Global::Opaque(what) => {
                if tables.names.get(attr) == "value"
                    && let Some(member) = member_value(path(scope, tables, base))
                {
                    return Global::Value(Constant::Number(Number::Int(member)));
                }
                let at = tables.tree.expr(expr).start;
                if let ExprKind::Name(_) | ExprKind::Attribute(..) = tables.tree.expr(base).kind
                    && let Some(instance) = scope.known_instance(tables, base, at)
                    && let Some((ty, value)) =
                        field_of(instance, attr, &scope.elements, tables.types)
                {
                    return match value {
                        value if matches!(tables.types.get(ty), Type::Struct(_)) => {
                            Global::Instance(value)
                        }
                        // A field that nothing has set is Python's whole zero.
                        Constant::Typed(_, Number::Int(0)) => OPAQUE,
                        value => Global::Value(value),
                    };
                }
                let value = compound(scope, tables, base).and_then(|value| {
                    let (elements, name) = (&scope.elements, tables.names.get(attr));
                    named_component(value, name, elements, tables.types)
                });
                value.map_or(Global::Opaque(what), Global::Value)
            }
            known => known,
        },
        ExprKind::Unary(op, operand) => {
            let operand = evaluate(scope, tables, operand);
            unary(scope, tables, op, operand)
        }
        ExprKind::Binary(op, left, right) => {
            let left = evaluate(scope, tables, left);
            let right = evaluate(scope, tables, right);
            binary(scope, tables, op, left, right)
        }
        ExprKind::Compare(operands, first) => comparison(scope, tables, operands, first),
        ExprKind::BoolOp { and, values } => {
            let mut value = OPAQUE;
            for at in values.start..values.start + values.len {
                let operand = tables.tree.expr_lists[at as usize];
                value = evaluate(scope, tables, operand);
                match value {
                    Global::Value(constant) if constant.truth().is_some() => {
                        // The first that decides is the value; those after it are not looked at.
                        if constant.truth() == Some(!and) {
                            break;
                        }
                    }
                    _ => return OPAQUE,
                }
            }
            value
        }
        ExprKind::IfElse { test, body, orelse } => match evaluate(scope, tables, test) {
            Global::Value(constant) => match constant.truth() {
                Some(true) => evaluate(scope, tables, body),
                Some(false) => evaluate(scope, tables, orelse),
                None => OPAQUE,
            },
            _ => OPAQUE,
        },
        ExprKind::Call {
            func,
            args,
            keywords,
        } => call(scope, tables, expr, (func, args, keywords)),
        ExprKind::Subscript(base, index)
            if let Some(item) = element(scope, tables, base, index) =>
        {
            // Python has run what the item says long before.
            let may_define = std::mem::replace(&mut scope.may_define, false);
            let outer = is_named(tables, base).then(|| scope.enter_closure(scope.module(), &[]));
            let value = evaluate(scope, tables, item);
            if let Some(outer) = outer {
                scope.leave_closure(outer);
            }
            scope.may_define = may_define;
            value
        }
        ExprKind::Subscript(base, index) => {
            match super::annotation::array_subscript(scope, tables, expr) {
                Some(ty) => Global::Type(ty),
                None => component_at(scope, tables, base, index).map_or(OPAQUE, Global::Value),
            }
        }
        _ => OPAQUE,
    }
}

/// The number of an enumeration's member.
pub(crate) fn member_value(member: Global) -> Option<i128> {
    match member {
        Global::Value(Constant::Number(Number::Int(value))) => Some(value),
        Global::Member(value) => Some(value.into()),
        _ => None,
    }
}

/// The text of an f-string, of texts, integers and truth values.
fn formatted(scope: &mut Scope, tables: &mut Tables<'_>, parts: List) -> Global {
    let mut text = String::new();
    for at in parts.start..parts.start + parts.len {
        let part = tables.tree.expr_lists[at as usize];
        match evaluate(scope, tables, part) {
            Global::Value(Constant::Str(part)) => text.push_str(tables.names.get(part)),
            Global::Value(Constant::Number(Number::Int(part))) => text += &part.to_string(),
            Global::Value(Constant::Bool(part)) => text += if part { "True" } else { "False" },
            Global::Nothing => text += "None",
            _ => return TEXT,
        }
        if text.len() > LONGEST_TEXT {
            return TEXT;
        }
    }
    Global::Value(Constant::Str(tables.names.intern(&text)))
}

/// The vector, matrix, quaternion or transform that an expression gives.
fn compound(scope: &mut Scope, tables: &mut Tables<'_>, expr: ExprId) -> Option<Constant> {
    if let ExprKind::Call { func, .. } = tables.tree.expr(expr).kind
        && !matches!(
            path(scope, tables, func),
            Global::Type(_) | Global::Builtin(_)
        )
    {
        // What a call of the module's own defines is defined once, where it is called.
        return None;
    }
    match evaluate(scope, tables, expr) {
        Global::Value(value @ Constant::Compound { .. }) => Some(value),
        _ => None,
    }
}

/// An element of a vector or a matrix, or a row of a matrix.
fn component_at(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    base: ExprId,
    index: ExprId,
) -> Option<Constant> {
    let value = compound(scope, tables, base)?;
    let indices = match tables.tree.expr(index).kind {
        ExprKind::Tuple(list) => tables.tree.exprs_in(list).to_vec(),
        _ => vec![index],
    };
    let mut numbers = Vec::with_capacity(indices.len());
    for index in indices {
        match evaluate(scope, tables, index) {
            Global::Value(index) => numbers.push(index.as_int()?),
            _ => return None,
        }
    }
    component(value, &numbers, &scope.elements, tables.types)
}

/// A chain of comparisons, each of two neighbours.
fn comparison(scope: &mut Scope, tables: &mut Tables<'_>, operands: List, first: u32) -> Global {
    if let Some(value) = membership(scope, tables, operands, first) {
        return value;
    }
    if let Some(value) = is_nothing(scope, tables, operands, first) {
        return value;
    }
    let mut values = Vec::with_capacity(operands.len as usize);
    for at in operands.start..operands.start + operands.len {
        let operand = tables.tree.expr_lists[at as usize];
        match as_integer(evaluate(scope, tables, operand)) {
            Global::Value(constant) => values.push(constant),
            _ => return OPAQUE,
        }
    }
    let mut holds = true;
    for (at, pair) in values.windows(2).enumerate() {
        let CompareOp::Known(op) = tables.tree.compares[first as usize + at] else {
            return OPAQUE;
        };
        let number = |constant: Constant| match constant {
            Constant::Number(number) => Some(number),
            Constant::Bool(value) => Some(Number::Int(i128::from(value))),
            _ => None,
        };
        holds &= match (pair[0], pair[1], op) {
            (Constant::Str(left), Constant::Str(right), Comparison::Equal) => left == right,
            (Constant::Str(left), Constant::Str(right), Comparison::NotEqual) => left != right,
            (left, right, _) => match (number(left), number(right)) {
                (Some(left), Some(right)) => compare(op, left, right),
                _ => return OPAQUE,
            },
        };
    }
    Global::Value(Constant::Bool(holds))
}

/// `x is None`, `x == None` and their opposites; nothing where it is another comparison.
fn is_nothing(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    operands: List,
    first: u32,
) -> Option<Global> {
    let (is_identity, is_same) = match tables.tree.compares[first as usize] {
        CompareOp::Unsupported("`is`") => (true, true),
        CompareOp::Unsupported("`is not`") => (true, false),
        CompareOp::Known(Comparison::Equal) => (false, true),
        CompareOp::Known(Comparison::NotEqual) => (false, false),
        _ => return None,
    };
    let unknown = is_identity.then_some(OPAQUE);
    let &[value, none] = tables.tree.exprs_in(operands) else {
        return unknown;
    };
    if tables.tree.expr(none).kind != ExprKind::None {
        return unknown;
    }
    let is_nothing = match evaluate(scope, tables, value) {
        Global::Nothing => true,
        // Vectors compare their elements.
        Global::Value(Constant::Compound { .. }) if !is_identity => return Some(OPAQUE),
        Global::Value(_)
        | Global::Function(_)
        | Global::Builtin(_)
        | Global::Kernel(_)
        | Global::Type(_)
        | Global::PythonType(_)
        | Global::Member(_)
        | Global::Class(_)
        | GIVEN => false,
        _ => return Some(OPAQUE),
    };
    Some(Global::Value(Constant::Bool(is_nothing == is_same)))
}

/// `x in display` and `x not in display`; nothing where it is another comparison.
fn membership(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    operands: List,
    first: u32,
) -> Option<Global> {
    let CompareOp::Unsupported(op @ ("`in`" | "`not in`")) = tables.tree.compares[first as usize]
    else {
        return None;
    };
    let &[value, display] = tables.tree.exprs_in(operands) else {
        return Some(OPAQUE);
    };
    let Global::Value(value) = evaluate(scope, tables, value) else {
        return Some(OPAQUE);
    };
    let found = contains(scope, tables, value, display);
    Some(found.map_or(OPAQUE, |found| {
        Global::Value(Constant::Bool(found == (op == "`in`")))
    }))
}

/// What an operator makes of two values.
pub(super) fn binary(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    op: BinaryOp,
    left: Global,
    right: Global,
) -> Global {
    let (Global::Value(left), Global::Value(right)) = (as_integer(left), as_integer(right)) else {
        return OPAQUE;
    };
    match (left, right) {
        (Constant::Number(left), Constant::Number(right)) => arithmetic(op, left, right)
            .map_or(OPAQUE, |value| Global::Value(Constant::Number(value))),
        _ => elementwise(op, left, right, &mut scope.elements, tables.types)
            .or_else(|| of_scalars(op, left, right))
            .or_else(|| combined(op, &[left, right], &mut scope.elements, tables.types))
            .map_or(OPAQUE, Global::Value),
    }
}

/// What Python's operators see in a member of an enumeration of compiled code.
fn as_integer(value: Global) -> Global {
    match value {
        Global::Member(value) => Global::Value(Constant::Number(Number::Int(i128::from(value)))),
        other => other,
    }
}

/// A name or dotted path at module level.
pub(crate) fn path(scope: &Scope, tables: &mut Tables<'_>, expr: ExprId) -> Global {
    let names = &*tables.names;
    let mut known = true;
    let found = resolve_path(
        expr,
        tables.tree,
        scope,
        names,
        tables.types,
        &mut |root, types| {
            let value = scope
                .get(root)
                .or_else(|| fallback(root, scope, names, types));
            known &= value.is_some();
            value
        },
    );
    match found {
        Some(value) => value,
        None if !known => Global::Opaque("a name that is not defined"),
        None => OPAQUE,
    }
}

fn unary(scope: &mut Scope, tables: &Tables<'_>, op: UnaryOp, operand: Global) -> Global {
    let Global::Value(constant) = operand else {
        return OPAQUE;
    };
    let value = match (op, constant) {
        (UnaryOp::Minus, Constant::Number(Number::Int(value))) => {
            Constant::Number(Number::Int(-value))
        }
        (UnaryOp::Minus, Constant::Number(Number::Float(value))) => {
            Constant::Number(Number::Float(-value))
        }
        (UnaryOp::Plus, number @ Constant::Number(_)) => number,
        (UnaryOp::Invert, Constant::Number(Number::Int(value))) => {
            Constant::Number(Number::Int(!value))
        }
        (UnaryOp::Not, Constant::Bool(value)) => Constant::Bool(!value),
        (UnaryOp::Minus, Constant::Typed(scalar, number)) => match negative(scalar, number) {
            Some(value) => value,
            None => return OPAQUE,
        },
        (UnaryOp::Minus, Constant::Compound { ty, start, len }) => {
            let is_float = tables.types.scalar_of(ty).is_some_and(Scalar::is_float);
            let from = start as usize..(start + len) as usize;
            let negated: Option<Vec<Number>> = scope.elements[from]
                .iter()
                .map(|element| match element {
                    Number::Float(value) if is_float => Some(Number::Float(-value)),
                    _ => None,
                })
                .collect();
            let Some(negated) = negated else {
                return OPAQUE;
            };
            let start = scope.elements.len() as u32;
            scope.elements.extend(negated);
            Constant::Compound { ty, start, len }
        }
        _ => return OPAQUE,
    };
    Global::Value(value)
}

fn call(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    site: ExprId,
    (func, args, keywords): (ExprId, List, List),
) -> Global {
    let callee = match tables.tree.expr(func).kind {
        ExprKind::Call { .. } => evaluate(scope, tables, func),
        _ => path(scope, tables, func),
    };
    if let (&[arg], 0, ExprKind::Name(name)) = (
        tables.tree.exprs_in(args),
        keywords.len,
        tables.tree.expr(func).kind,
    ) && tables.names.get(name) == "len"
        && scope.get(name).is_none()
        && let Some(length) = length(scope, tables, arg)
    {
        return Global::Value(Constant::Number(Number::Int(length as i128)));
    }
    if let (&[arg], 0, ExprKind::Name(name)) = (
        tables.tree.exprs_in(args),
        keywords.len,
        tables.tree.expr(func).kind,
    ) && scope.get(name).is_none()
        && let Some(value) = of_items(scope, tables, name, arg)
    {
        return Global::Value(value);
    }
    let mut values = Vec::with_capacity(args.len as usize);
    for at in args.start..args.start + args.len {
        let arg = tables.tree.expr_lists[at as usize];
        let ExprKind::Starred(spread) = tables.tree.expr(arg).kind else {
            values.push(argument(scope, tables, arg));
            continue;
        };
        let Some(items) = items(scope, tables, spread) else {
            return OPAQUE;
        };
        for item in items {
            values.push(argument(scope, tables, item));
        }
    }
    if keywords.len == 0
        && let Some(value) = python_function(scope, tables, func, &values)
    {
        return value;
    }
    if let Some(function) = host_function(scope, tables, func, callee)
        && let Some(named) = named_arguments(scope, tables, keywords)
    {
        let given = Given {
            values: &values,
            named: &named,
            site,
        };
        let result = call_function(scope, tables, function, &given);
        return result.unwrap_or(Global::Opaque("a call that only Python can run"));
    }
    match callee {
        Global::WarpCallable(name) => match tables.names.get(name) {
            "constant" if values.len() == 1 && keywords.len == 0 => values[0],
            "get_module"
                if keywords.len == 0
                    && matches!(*values, [Global::Value(Constant::Str(_)) | TEXT]) =>
            {
                MODULE
            }
            _ => match super::annotation::type_call(scope, tables, name, args, keywords) {
                Some(ty) => Global::Type(ty),
                None => OPAQUE,
            },
        },
        Global::Type(ty) => {
            if let Type::Transform(_) = tables.types.get(ty) {
                // The two parts may be given by name, in order.
                for (at, wanted) in
                    (0..keywords.len as usize).zip(["p", "q"].iter().skip(values.len()))
                {
                    let keyword = tables.tree.keywords[keywords.start as usize + at];
                    if keyword.name.map(|name| tables.names.get(name)) != Some(wanted) {
                        return OPAQUE;
                    }
                    let value = argument(scope, tables, keyword.value);
                    values.push(value);
                }
                if keywords.len > 0 && values.len() != 2 {
                    return OPAQUE;
                }
            } else if keywords.len != 0 {
                return OPAQUE;
            }
            if let Some((_, written)) = limit_of_numpy(scope, tables, args) {
                values = vec![Global::Value(Constant::Number(Number::Float(written)))];
            }
            construct(scope, tables, ty, &values)
        }
        Global::PythonType(TypeId::F32)
            if keywords.len == 0
                && let Some((limit, _)) = limit_of_numpy(scope, tables, args) =>
        {
            Global::Value(Constant::Number(Number::Float(limit)))
        }
        Global::PythonType(ty) if keywords.len == 0 && values.len() == 1 => {
            python_cast(ty, as_integer(values[0]), tables)
        }
        Global::Builtin(index) if values.is_empty() && keywords.len == 0 => {
            match BUILTINS[usize::from(index)].name {
                "quat_identity" => identity(scope, tables, Type::Quat(Scalar::F32), 4),
                "transform_identity" => identity(scope, tables, Type::Transform(Scalar::F32), 7),
                _ => OPAQUE,
            }
        }
        Global::Builtin(index)
            if BUILTINS[usize::from(index)].name == "static"
                && values.len() == 1
                && keywords.len == 0 =>
        {
            values[0]
        }
        Global::Builtin(index) if keywords.len == 0 => {
            let name = BUILTINS[usize::from(index)].name;
            let constants = values.iter().map(|value| match value {
                Global::Value(constant) => Some(*constant),
                _ => None,
            });
            let constants: Option<Vec<Constant>> = constants.collect();
            constants
                .and_then(|values| {
                    let elements = &mut scope.elements;
                    function(name, &values, elements, tables.types)
                        .or_else(|| algebraic(name, &values, elements, tables.types))
                })
                .map_or(OPAQUE, Global::Value)
        }
        _ => OPAQUE,
    }
}

/// The only argument of a call that is a limit of one of NumPy's types: `np.finfo(np.float32).eps`. By itself it is a
/// number of NumPy's, with rules of its own. The second number is what NumPy writes: as few digits as its type needs,
/// which Warp's types keep.
fn limit_of_numpy(scope: &Scope, tables: &mut Tables<'_>, args: List) -> Option<(f64, f64)> {
    let &[arg] = tables.tree.exprs_in(args) else {
        return None;
    };
    let ExprKind::Attribute(info, which) = tables.tree.expr(arg).kind else {
        return None;
    };
    let ExprKind::Call {
        func,
        args,
        keywords,
    } = tables.tree.expr(info).kind
    else {
        return None;
    };
    let &[kind] = tables.tree.exprs_in(args) else {
        return None;
    };
    let mut of_numpy = |expr: ExprId, wanted: &[&str]| {
        let ExprKind::Attribute(base, name) = tables.tree.expr(expr).kind else {
            return None;
        };
        let is_numpy = path(scope, tables, base) == Global::Module(PythonModule::Numpy);
        let name = tables.names.get(name);
        let found = wanted.iter().position(|text| *text == name);
        found.filter(|_| is_numpy)
    };
    of_numpy(func, &["finfo"])?;
    let is_double = of_numpy(kind, &["float32", "float64"])? == 1;
    let limit = match (tables.names.get(which), is_double) {
        _ if keywords.len > 0 => return None,
        ("eps", false) => f32::EPSILON.into(),
        ("max", false) => f32::MAX.into(),
        ("min", false) => f32::MIN.into(),
        ("tiny" | "smallest_normal", false) => f32::MIN_POSITIVE.into(),
        ("eps", true) => f64::EPSILON,
        ("max", true) => f64::MAX,
        ("min", true) => f64::MIN,
        ("tiny" | "smallest_normal", true) => f64::MIN_POSITIVE,
        _ => return None,
    };
    let written = match is_double {
        true => limit,
        false => (limit as f32).to_string().parse().ok()?,
    };
    Some((limit, written))
}

/// What keywords give, by name; nothing where one is a mapping.
fn named_arguments(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    keywords: List,
) -> Option<Vec<(Name, Global)>> {
    let keywords = tables.tree.keywords_in(keywords).to_vec();
    let named = keywords
        .into_iter()
        .map(|keyword| Some((keyword.name?, evaluate(scope, tables, keyword.value))));
    named.collect()
}

/// The function that a call at module level runs in Python.
fn host_function(
    scope: &Scope,
    tables: &mut Tables<'_>,
    func: ExprId,
    callee: Global,
) -> Option<HostFunction> {
    match (callee, tables.tree.expr(func).kind) {
        (Global::Opaque(_), ExprKind::Name(name)) => scope.host_function(name),
        (Global::Opaque(_), ExprKind::Attribute(base, name)) => match path(scope, tables, base) {
            Global::Module(PythonModule::Project(module)) => scope.host_function_in(module, name),
            _ => None,
        },
        (Global::Function(set), _) => {
            let set = &scope.sets[set as usize];
            // Which of several runs depends on the arguments' types.
            let [only] = set.overloads[..] else {
                return None;
            };
            let def = &scope.functions[only as usize];
            if !set.templates.is_empty() || def.library {
                return None;
            }
            let mut nodes = tables.tree.functions.iter();
            let same_body = |list: List| (list.start, list.len) == (def.body.start, def.body.len);
            let node = nodes.position(|node| same_body(node.body))?;
            let is_nested = tables.tree.functions[node].name != def.key;
            if (is_nested || !def.closure.is_empty()) && !scope.is_made(only) {
                return None;
            }
            Some(HostFunction {
                node: node as u32,
                module: def.module,
                made: is_nested.then_some(only),
            })
        }
        _ => None,
    }
}
