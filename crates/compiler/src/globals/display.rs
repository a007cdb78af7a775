//! Lists, tuples, sets and dictionaries that a module writes out and never changes: their elements, their
//! length, and what is in them.
//!
//! Invariant: a display is looked into only if every mention of its name reads it. A method that is called on
//! it, an element that is set, another name for it or a function that it is given to may change it, and then
//! nothing is known of it.

use super::comprehension::comprehended;
use super::evaluate::evaluate;
use super::value::Tables;
use super::{Global, Scope};
use crate::syntax::{ComprehensionKind, Expr, ExprId, ExprKind, List, StmtKind};
use warpsmith_ir::names::Name;
use warpsmith_ir::{Constant, Number};

/// Displays inside displays that are followed.
const DEEPEST: u32 = 8;

/// What a module-level expression that is a display, or names one, consists of.
pub(super) fn display(scope: &mut Scope, tables: &mut Tables<'_>, expr: ExprId) -> Option<ExprId> {
    display_within(scope, tables, expr, DEEPEST)
}

fn display_within(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    expr: ExprId,
    depth: u32,
) -> Option<ExprId> {
    let depth = depth.checked_sub(1)?;
    match tables.tree.expr(expr).kind {
        ExprKind::Tuple(_)
        | ExprKind::ListDisplay(_)
        | ExprKind::SetDisplay(_)
        | ExprKind::Dict(_) => Some(expr),
        ExprKind::Comprehension { .. } => comprehended(scope, tables, expr),
        // A tuple or a list of the same items.
        ExprKind::Call {
            func,
            args,
            keywords,
        } if let (&[arg], 0, ExprKind::Name(name)) = (
            tables.tree.exprs_in(args),
            keywords.len,
            tables.tree.expr(func).kind,
        ) && matches!(tables.names.get(name), "tuple" | "list")
            && scope.get(name).is_none() =>
        {
            let found = display_within(scope, tables, arg, depth)?;
            let kind = match tables.tree.expr(found).kind {
                ExprKind::Tuple(list) | ExprKind::ListDisplay(list) => ExprKind::Tuple(list),
                _ => return None,
            };
            let node = tables.tree.expr(expr);
            Some(tables.tree.push_expr(Expr { kind, ..node }))
        }
        ExprKind::Name(name) => named(scope, tables, name),
        ExprKind::Subscript(base, index) => {
            let base = display_within(scope, tables, base, depth)?;
            let element = element_of(scope, tables, base, index)?;
            display_within(scope, tables, element, depth)
        }
        _ => None,
    }
}

/// The display that a name of the module at hand stands for.
pub(super) fn named(scope: &Scope, tables: &Tables<'_>, name: Name) -> Option<ExprId> {
    let found = scope.display(name)?;
    let flat = is_flat(tables, found);
    let is_fixed = !scope.is_rebound(name)
        && (is_immutable(tables, found, DEEPEST) || !is_changed(tables, name, flat));
    is_fixed.then_some(found)
}

/// Whether an expression gives its items once, and has neither a length nor elements.
fn is_generator(tables: &Tables<'_>, expr: ExprId) -> bool {
    let kind = ComprehensionKind::Generator;
    matches!(tables.tree.expr(expr).kind, ExprKind::Comprehension { kind: own, .. } if own == kind)
}

/// The element of a display that a subscript names.
pub(super) fn element(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    base: ExprId,
    index: ExprId,
) -> Option<ExprId> {
    if is_generator(tables, base) {
        return None;
    }
    let base = display(scope, tables, base)?;
    element_of(scope, tables, base, index)
}

fn element_of(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    base: ExprId,
    index: ExprId,
) -> Option<ExprId> {
    let Global::Value(key) = evaluate(scope, tables, index) else {
        return None;
    };
    match tables.tree.expr(base).kind {
        ExprKind::Tuple(list) | ExprKind::ListDisplay(list) => {
            let items = plain_items(tables, list)?;
            let at = key.as_int()?;
            let at = if at < 0 { at + items.len() as i128 } else { at };
            items.get(usize::try_from(at).ok()?).copied()
        }
        ExprKind::Dict(list) => {
            let items = plain_items(tables, list)?;
            // The last of equal keys counts.
            let mut found = None;
            for pair in items.chunks_exact(2) {
                let Global::Value(other) = evaluate(scope, tables, pair[0]) else {
                    return None;
                };
                if same(key, other)? {
                    found = Some(pair[1]);
                }
            }
            found
        }
        _ => None,
    }
}

/// `len` of a display.
pub(super) fn length(scope: &mut Scope, tables: &mut Tables<'_>, expr: ExprId) -> Option<usize> {
    if is_generator(tables, expr) {
        return None;
    }
    let found = display(scope, tables, expr)?;
    match tables.tree.expr(found).kind {
        ExprKind::Tuple(list) | ExprKind::ListDisplay(list) => {
            plain_items(tables, list).map(|items| items.len())
        }
        // Equal keys and members count once.
        ExprKind::Dict(list) | ExprKind::SetDisplay(list) => {
            let is_dict = matches!(tables.tree.expr(found).kind, ExprKind::Dict(_));
            let items = plain_items(tables, list)?;
            let mut members: Vec<Constant> = Vec::new();
            for item in items.into_iter().step_by(if is_dict { 2 } else { 1 }) {
                let Global::Value(member) = evaluate(scope, tables, item) else {
                    return None;
                };
                let mut known = false;
                for other in &members {
                    known |= same(*other, member)?;
                }
                if !known {
                    members.push(member);
                }
            }
            Some(members.len())
        }
        _ => None,
    }
}

/// The items of a list or a tuple.
pub(super) fn items(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    expr: ExprId,
) -> Option<Vec<ExprId>> {
    let found = display(scope, tables, expr)?;
    match tables.tree.expr(found).kind {
        ExprKind::Tuple(list) | ExprKind::ListDisplay(list) => plain_items(tables, list),
        _ => None,
    }
}

/// Whether a value is in a display.
pub(super) fn contains(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    value: Constant,
    expr: ExprId,
) -> Option<bool> {
    let found = display(scope, tables, expr)?;
    let (list, step) = match tables.tree.expr(found).kind {
        ExprKind::Tuple(list) | ExprKind::ListDisplay(list) | ExprKind::SetDisplay(list) => {
            (list, 1)
        }
        ExprKind::Dict(list) => (list, 2),
        _ => return None,
    };
    for item in plain_items(tables, list)?.into_iter().step_by(step) {
        let Global::Value(other) = evaluate(scope, tables, item) else {
            return None;
        };
        if same(value, other)? {
            return Some(true);
        }
    }
    Some(false)
}

/// Whether Python finds two plain values equal; nothing where it is not known.
pub(super) fn same(left: Constant, right: Constant) -> Option<bool> {
    let number = |constant| match constant {
        Constant::Number(number) => Some(number),
        Constant::Bool(value) => Some(Number::Int(i128::from(value))),
        _ => None,
    };
    match (left, right) {
        (Constant::Str(left), Constant::Str(right)) => Some(left == right),
        (Constant::Str(_), other) | (other, Constant::Str(_)) => number(other).map(|_| false),
        _ => match (number(left)?, number(right)?) {
            (Number::Int(left), Number::Int(right)) => Some(left == right),
            (Number::Float(left), Number::Float(right)) => Some(left == right),
            // Integers that `f64` does not have are left to Python.
            (Number::Int(int), Number::Float(float)) | (Number::Float(float), Number::Int(int)) => {
                (int.abs() <= 1 << 53).then_some(int as f64 == float)
            }
        },
    }
}

/// The items of a display, if none of them is several.
fn plain_items(tables: &Tables<'_>, list: List) -> Option<Vec<ExprId>> {
    let items = tables.tree.exprs_in(list);
    let starred = |item: &ExprId| matches!(tables.tree.expr(*item).kind, ExprKind::Starred(_));
    (!items.iter().any(starred)).then(|| items.to_vec())
}

/// Whether a display has literals alone, none of which anything can change.
fn is_flat(tables: &Tables<'_>, display: ExprId) -> bool {
    let (ExprKind::Tuple(list)
    | ExprKind::ListDisplay(list)
    | ExprKind::SetDisplay(list)
    | ExprKind::Dict(list)) = tables.tree.expr(display).kind
    else {
        return false;
    };
    let mut items = tables.tree.exprs_in(list).iter();
    items.all(|item| is_literal(tables, *item))
}

fn is_literal(tables: &Tables<'_>, item: ExprId) -> bool {
    let mut kind = tables.tree.expr(item).kind;
    while let ExprKind::Unary(_, operand) = kind {
        kind = tables.tree.expr(operand).kind;
    }
    matches!(
        kind,
        ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) | ExprKind::Str(_)
    )
}

/// Whether a display is a tuple of literals and of such tuples, which nothing can change, whoever has it.
fn is_immutable(tables: &Tables<'_>, display: ExprId, depth: u32) -> bool {
    let (ExprKind::Tuple(list), Some(depth)) =
        (tables.tree.expr(display).kind, depth.checked_sub(1))
    else {
        return false;
    };
    let mut items = tables.tree.exprs_in(list).iter();
    items.all(|item| is_literal(tables, *item) || is_immutable(tables, *item, depth))
}

/// Whether some mention of a name may change what it stands for; parts of what is `flat` may go anywhere.
pub(super) fn is_changed(tables: &Tables<'_>, name: Name, flat: bool) -> bool {
    let tree = &*tables.tree;
    let is = |expr: ExprId| tree.expr(expr).kind == ExprKind::Name(name);
    // `table[i][j] = …` changes the table too.
    let is_part = |mut expr: ExprId| {
        while let ExprKind::Subscript(base, _) = tree.expr(expr).kind {
            expr = base;
        }
        is(expr)
    };
    let is_given = |expr: ExprId| if flat { is(expr) } else { is_part(expr) };
    let reads = |func: ExprId| match tree.expr(func).kind {
        ExprKind::Name(callee) | ExprKind::Attribute(_, callee) => {
            match tables.names.get(callee) {
                "len" | "static" | "range" | "enumerate" | "min" | "max" | "sum" | "print"
                | "kernel" | "set_module_options" => true,
                // What these give may have parts of what they are given.
                "sorted" | "list" | "tuple" | "set" | "dict" | "zip" | "any" | "all" | "array"
                | "isinstance" | "type" | "str" | "repr" | "reversed" | "prod" => flat,
                _ => false,
            }
        }
        _ => false,
    };
    let in_expression = tree.exprs.iter().any(|expr| match expr.kind {
        ExprKind::Attribute(base, _) => is_given(base),
        ExprKind::Call {
            func,
            args,
            keywords,
        } => {
            let given = tree.exprs_in(args).iter().copied().any(is_given)
                || (tree.keywords_in(keywords).iter()).any(|keyword| is_given(keyword.value));
            given && !reads(func)
        }
        // What is gone over gives its parts to the names of the clause.
        ExprKind::Comprehension { parts, .. } => {
            let parts = tree.exprs_in(parts);
            let mut over = parts[1..].chunks_exact(3).map(|clause| clause[1]);
            is_given(parts[0]) || (!flat && over.any(is_part))
        }
        // A lambda, whose parts are not looked at.
        ExprKind::Unsupported(_) => {
            let text = tables.text.get(expr.start as usize..expr.end as usize);
            text.is_none_or(|text| text.contains(tables.names.get(name)))
        }
        // Part of something else, by which it may be changed.
        ExprKind::Tuple(list) | ExprKind::ListDisplay(list) | ExprKind::Dict(list) => {
            tree.exprs_in(list).iter().copied().any(is_given)
        }
        _ => false,
    });
    let targets = |list: List| {
        let targets = tree.exprs_in(list).iter().copied();
        targets.filter(|target| !is(*target)).any(is_part)
    };
    in_expression
        || tree.stmts.iter().any(|stmt| match stmt.kind {
            StmtKind::Assign { targets: to, value } => targets(to) || is_given(value),
            StmtKind::AnnAssign { target, value, .. } => {
                (!is(target) && is_part(target)) || value.is_some_and(is_given)
            }
            StmtKind::AugAssign { target, value, .. } => is_part(target) || is_given(value),
            StmtKind::Delete(list) => targets(list),
            StmtKind::For { iter, .. } => !flat && is_part(iter),
            StmtKind::Return(Some(value)) => is_given(value),
            _ => false,
        })
}
