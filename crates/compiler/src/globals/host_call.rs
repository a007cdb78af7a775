//! Calls of the module's own functions while it is read: those whose statements only compute from constants.
//!
//! Warp runs such a call in Python, `@wp.func` or not. Here a body may assign to its own names, choose with
//! `if` and return a value; whatever else it does, only Python can run.

use super::evaluate::evaluate;
use super::value::Tables;
use super::{Global, Scope};
use crate::syntax::{ExprKind, List, StmtKind};
use warpsmith_ir::names::Name;

/// Calls inside calls, and statements of all calls of an expression: bounds on what a module can make us do.
const DEEPEST: u32 = 16;
const MOST_STATEMENTS: u32 = 10_000;

/// A function that can be called while the module is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostFunction {
    /// Position among the tree's functions.
    pub(super) node: u32,
    /// The module that defines it.
    pub(super) module: u16,
}

/// How far calls have gone.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    depth: u32,
    statements: u32,
}

/// What a statement of a function leads to.
enum Flow {
    Next,
    Returned(Global),
    /// Only Python can run it.
    Unknown,
}

/// The result of a call with these values; nothing where only Python can run it.
pub(super) fn call_function(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    function: HostFunction,
    values: &[Global],
) -> Option<Global> {
    let node = tables.tree.functions[function.node as usize];
    let list = node.parameters;
    let parameters = tables.tree.parameters[list.start as usize..][..list.len as usize].to_vec();
    if !node.plain || node.is_async || values.len() > parameters.len() {
        return None;
    }
    if scope.progress.depth == DEEPEST {
        return None;
    }
    // Defaults are worked out where the function is defined; they see the module's names as well.
    let outer = scope.enter_module(function.module);
    let mut locals: Vec<(Name, Option<Global>)> = Vec::new();
    let mut arguments = Vec::new();
    for (at, parameter) in parameters.iter().enumerate() {
        let value = match (values.get(at), parameter.default) {
            (Some(value), _) => Some(*value),
            (None, Some(default)) => Some(evaluate(scope, tables, default)),
            (None, None) => None,
        };
        arguments.push((parameter.name, value));
    }
    let known = std::mem::take(&mut tables.known);
    scope.progress.depth += 1;
    let mut flow = Flow::Unknown;
    if arguments.iter().all(|(_, value)| is_plain(*value)) {
        for (name, value) in arguments {
            locals.push((name, scope.shadow(name, value)));
        }
        flow = run(scope, tables, node.body, &mut locals);
    }
    scope.progress.depth -= 1;
    if scope.progress.depth == 0 {
        scope.progress.statements = 0;
    }
    for (name, before) in locals.into_iter().rev() {
        scope.shadow(name, before);
    }
    tables.known = known;
    scope.enter_module(outer);
    match flow {
        Flow::Returned(value) if is_plain(Some(value)) => Some(value),
        // Without a value the result is `None`, which is no constant.
        _ => None,
    }
}

/// Values that a function can take and give: those that no name can change.
fn is_plain(value: Option<Global>) -> bool {
    matches!(
        value,
        Some(Global::Value(_) | Global::Function(_) | Global::Builtin(_))
    )
}

fn run(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    body: List,
    locals: &mut Vec<(Name, Option<Global>)>,
) -> Flow {
    for at in body.start..body.start + body.len {
        scope.progress.statements += 1;
        if scope.progress.statements > MOST_STATEMENTS {
            return Flow::Unknown;
        }
        let stmt = tables.tree.stmt(tables.tree.stmt_lists[at as usize]);
        match stmt.kind {
            StmtKind::Pass => {}
            // A doc string.
            StmtKind::Expr(value) if matches!(tables.tree.expr(value).kind, ExprKind::Str(_)) => {}
            StmtKind::Assign { targets, value } => {
                let [target] = *tables.tree.exprs_in(targets) else {
                    return Flow::Unknown;
                };
                let ExprKind::Name(name) = tables.tree.expr(target).kind else {
                    return Flow::Unknown;
                };
                let value = evaluate(scope, tables, value);
                if !is_plain(Some(value)) {
                    return Flow::Unknown;
                }
                let before = scope.shadow(name, Some(value));
                locals.push((name, before));
            }
            StmtKind::If { test, body, orelse } => {
                let truth = match evaluate(scope, tables, test) {
                    Global::Value(constant) => constant.truth(),
                    _ => None,
                };
                let Some(truth) = truth else {
                    return Flow::Unknown;
                };
                match run(scope, tables, if truth { body } else { orelse }, locals) {
                    Flow::Next => {}
                    other => return other,
                }
            }
            StmtKind::Return(Some(value)) => return Flow::Returned(evaluate(scope, tables, value)),
            _ => return Flow::Unknown,
        }
    }
    Flow::Next
}
