//! Comprehensions over what the module writes out: each makes a display whose items are worked out.

use super::display::{display, items};
use super::evaluate::evaluate;
use super::value::Tables;
use super::{Global, Scope};
use crate::syntax::{Expr, ExprId, ExprKind, List};
use warpsmith_ir::names::Name;
use warpsmith_ir::{Constant, Number};

/// Items that one comprehension may make, those inside it counted.
const MOST_ITEMS: usize = 4096;

/// Passes of its loops, also of those that make nothing because a condition does not hold.
const MOST_PASSES: usize = 1 << 16;

/// The display that a comprehension makes; nothing where only Python can run it.
pub(super) fn comprehended(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    expr: ExprId,
) -> Option<ExprId> {
    // Python has run it once; here functions would be numbered again.
    let may_define = std::mem::replace(&mut scope.may_define, false);
    let made = comprehended_once(scope, tables, expr);
    scope.may_define = may_define;
    made
}

/// The same where it stands, so that its items may define functions.
pub(super) fn comprehended_once(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    expr: ExprId,
) -> Option<ExprId> {
    let node = tables.tree.expr(expr);
    let ExprKind::Comprehension { kind, parts } = node.kind else {
        return None;
    };
    let parts = tables.tree.exprs_in(parts).to_vec();
    let (element, clauses) = parts.split_first()?;
    let mut made = Made {
        items: Vec::new(),
        passes: 0,
    };
    passes(scope, tables, clauses, *element, &mut made)?;
    let list = tables.tree.push_exprs(&made.items);
    Some(tables.tree.push_expr(Expr {
        kind: kind.display(list),
        ..node
    }))
}

/// The display of a call such as `tuple(i for i in …)`.
pub(super) fn comprehended_in(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    expr: ExprId,
) -> Option<ExprId> {
    let ExprKind::Call { args, .. } = tables.tree.expr(expr).kind else {
        return None;
    };
    let &[arg] = tables.tree.exprs_in(args) else {
        return None;
    };
    match tables.tree.expr(arg).kind {
        ExprKind::Comprehension { .. } => display(scope, tables, expr),
        _ => None,
    }
}

/// What was made so far.
struct Made {
    items: Vec<ExprId>,
    passes: usize,
}

/// All passes of the clauses that are left: each is a target, what it goes over, and its conditions.
fn passes(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    clauses: &[ExprId],
    element: ExprId,
    made: &mut Made,
) -> Option<()> {
    let Some((&[target, iter, conditions], inner)) = clauses.split_first_chunk::<3>() else {
        let item = worked_out(scope, tables, element)?;
        match tables.tree.expr(element).kind {
            // A key and its value.
            ExprKind::Dict(_) => {
                let ExprKind::Dict(pair) = tables.tree.expr(item).kind else {
                    return None;
                };
                made.items.extend_from_slice(tables.tree.exprs_in(pair));
            }
            _ => made.items.push(item),
        }
        return (made.items.len() <= MOST_ITEMS).then_some(());
    };
    for item in iterated(scope, tables, iter)? {
        made.passes += 1;
        if made.passes > MOST_PASSES {
            return None;
        }
        let mut names = Vec::new();
        bind(scope, tables, target, item, &mut names)?;
        for (name, value) in scope.enclosing_values() {
            if !names.iter().any(|(known, _)| *known == name) {
                names.push((name, value));
            }
        }
        let outer = scope.enter_closure(scope.module(), &names);
        let done = match holds(scope, tables, conditions) {
            Some(true) => passes(scope, tables, inner, element, made),
            Some(false) => Some(()),
            None => None,
        };
        scope.leave_closure(outer);
        done?;
    }
    Some(())
}

fn holds(scope: &mut Scope, tables: &mut Tables<'_>, conditions: ExprId) -> Option<bool> {
    let ExprKind::Tuple(list) = tables.tree.expr(conditions).kind else {
        return None;
    };
    for condition in tables.tree.exprs_in(list).to_vec() {
        match evaluate(scope, tables, condition) {
            Global::Value(value) if value.truth()? => {}
            Global::Value(_) => return Some(false),
            _ => return None,
        }
    }
    Some(true)
}

/// What a target's names stand for, given an item.
fn bind(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    target: ExprId,
    item: ExprId,
    names: &mut Vec<(Name, Global)>,
) -> Option<()> {
    match tables.tree.expr(target).kind {
        ExprKind::Name(name) => match evaluate(scope, tables, item) {
            Global::Opaque(_) | Global::Instance(_) => None,
            value => {
                names.push((name, value));
                Some(())
            }
        },
        ExprKind::Tuple(targets) => {
            let items = items(scope, tables, item)?;
            let targets = tables.tree.exprs_in(targets).to_vec();
            if items.len() != targets.len() {
                return None;
            }
            let mut pairs = targets.into_iter().zip(items);
            pairs.try_for_each(|(target, item)| bind(scope, tables, target, item, names))
        }
        _ => None,
    }
}

/// What a clause goes over: `range`, `enumerate` and `zip` of what is known, or a display.
fn iterated(scope: &mut Scope, tables: &mut Tables<'_>, iter: ExprId) -> Option<Vec<ExprId>> {
    if let ExprKind::Call {
        func,
        args,
        keywords,
    } = tables.tree.expr(iter).kind
        && let ExprKind::Name(name) = tables.tree.expr(func).kind
        && scope.get(name).is_none()
        && keywords.len == 0
    {
        let args = tables.tree.exprs_in(args).to_vec();
        return match (tables.names.get(name).to_owned().as_str(), &*args) {
            ("range", _) => range(scope, tables, iter, &args),
            ("enumerate", &[over]) => {
                let items = iterated(scope, tables, over)?.into_iter().enumerate();
                let pairs = items.map(|(at, item)| {
                    let at = literal(tables, iter, ExprKind::Int(at as i128));
                    tuple(tables, iter, &[at, item])
                });
                Some(pairs.collect())
            }
            ("zip", _) => {
                let over = args.iter().map(|arg| iterated(scope, tables, *arg));
                let over: Vec<Vec<ExprId>> = over.collect::<Option<_>>()?;
                let shortest = over.iter().map(Vec::len).min()?;
                let rows = (0..shortest).map(|at| {
                    let row: Vec<ExprId> = over.iter().map(|items| items[at]).collect();
                    tuple(tables, iter, &row)
                });
                Some(rows.collect())
            }
            _ => items_outside(scope, tables, iter),
        };
    }
    items_outside(scope, tables, iter)
}

/// The items of a display, each worked out where it is written: what a module's name stands for does not see the
/// names of comprehensions and functions around.
fn items_outside(scope: &mut Scope, tables: &mut Tables<'_>, iter: ExprId) -> Option<Vec<ExprId>> {
    let items = items(scope, tables, iter)?;
    if !is_named(tables, iter) {
        return Some(items);
    }
    let outer = scope.enter_closure(scope.module(), &[]);
    let items = items.iter().map(|item| worked_out(scope, tables, *item));
    let items = items.collect();
    scope.leave_closure(outer);
    items
}

/// Whether a display is reached by way of a name.
pub(super) fn is_named(tables: &Tables<'_>, mut expr: ExprId) -> bool {
    while let ExprKind::Subscript(base, _) = tables.tree.expr(expr).kind {
        expr = base;
    }
    matches!(tables.tree.expr(expr).kind, ExprKind::Name(_))
}

fn range(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    iter: ExprId,
    args: &[ExprId],
) -> Option<Vec<ExprId>> {
    let mut bounds = Vec::with_capacity(args.len());
    for arg in args {
        match evaluate(scope, tables, *arg) {
            Global::Value(Constant::Number(Number::Int(bound))) => bounds.push(bound),
            _ => return None,
        }
    }
    let (mut at, end, step) = match *bounds {
        [end] => (0, end, 1),
        [start, end] => (start, end, 1),
        [start, end, step] if step != 0 => (start, end, step),
        _ => return None,
    };
    let mut made = Vec::new();
    while (step > 0 && at < end) || (step < 0 && at > end) {
        if made.len() == MOST_ITEMS {
            return None;
        }
        made.push(literal(tables, iter, ExprKind::Int(at)));
        at = at.checked_add(step)?;
    }
    Some(made)
}

/// An expression as it is worked out now, whatever its names stand for later.
fn worked_out(scope: &mut Scope, tables: &mut Tables<'_>, expr: ExprId) -> Option<ExprId> {
    if let Some(found) = display(scope, tables, expr) {
        let kind = tables.tree.expr(found).kind;
        let rebuilt: fn(List) -> ExprKind = match kind {
            ExprKind::Tuple(_) => ExprKind::Tuple,
            ExprKind::ListDisplay(_) => ExprKind::ListDisplay,
            ExprKind::SetDisplay(_) => ExprKind::SetDisplay,
            _ => ExprKind::Dict,
        };
        let items = tables.tree.parts(found).into_iter();
        let items = items.map(|item| worked_out(scope, tables, item));
        let items = items.collect::<Option<Vec<ExprId>>>()?;
        let list = tables.tree.push_exprs(&items);
        return Some(literal(tables, expr, rebuilt(list)));
    }
    let value = evaluate(scope, tables, expr);
    let kind = match value {
        Global::Value(Constant::Number(Number::Int(value))) => ExprKind::Int(value),
        Global::Value(Constant::Number(Number::Float(value))) => ExprKind::Float(value),
        Global::Value(Constant::Bool(value)) => ExprKind::Bool(value),
        Global::Value(Constant::Str(value)) => ExprKind::Str(value),
        Global::Opaque(_) | Global::Instance(_) => return None,
        _ => {
            let made = literal(
                tables,
                expr,
                ExprKind::Unsupported("a comprehension's item"),
            );
            scope.work_out(made, value);
            return Some(made);
        }
    };
    Some(literal(tables, expr, kind))
}

fn literal(tables: &mut Tables<'_>, at: ExprId, kind: ExprKind) -> ExprId {
    let node = tables.tree.expr(at);
    tables.tree.push_expr(Expr { kind, ..node })
}

fn tuple(tables: &mut Tables<'_>, at: ExprId, items: &[ExprId]) -> ExprId {
    let list = tables.tree.push_exprs(items);
    literal(tables, at, ExprKind::Tuple(list))
}

impl Scope {
    /// Notes the values of a display's items that define functions: Python has run each of them once.
    pub(super) fn work_out_items(&mut self, tables: &mut Tables<'_>, display: ExprId) {
        for item in tables.tree.parts(display) {
            match tables.tree.expr(item).kind {
                ExprKind::Call { .. } => {
                    let before = self.calls.len();
                    let value = evaluate(self, tables, item);
                    if self.calls.len() > before {
                        self.work_out(item, value);
                    }
                }
                ExprKind::Tuple(_) | ExprKind::ListDisplay(_) | ExprKind::Dict(_) => {
                    self.work_out_items(tables, item);
                }
                _ => {}
            }
        }
    }
}
