//! `wp.static` of calls that define functions, such as `wp.static(factory(2.0))`.
//!
//! Warp works such an expression out once, where the kernel or function around it is defined, and its functions are
//! numbered then; so that is when it is done here. What makes no functions is worked out when the kernel is built.

use super::evaluate::{evaluate, path};
use super::value::Tables;
use super::{Global, Scope};
use crate::syntax::{ExprId, ExprKind, FunctionNode, List, StmtKind};
use warpsmith_ir::builtin::BUILTINS;
use warpsmith_ir::names::Name;

/// What is found while a definition's body is gone through.
struct Found {
    /// The variables of the loops around: an expression with one of them is worked out in every pass.
    loops: Vec<Name>,
    /// Expressions of `wp.static` that have defined functions, with what they give.
    values: Vec<(ExprId, Global)>,
}

impl Scope {
    /// Works out the expressions of `wp.static` in a body that define functions.
    pub(super) fn defining_statics(
        &mut self,
        tables: &mut Tables<'_>,
        node: &FunctionNode,
        index: u32,
    ) -> Vec<(ExprId, Global)> {
        let mut found = Found {
            loops: Vec::new(),
            values: Vec::new(),
        };
        // Warp works them out again for each instance of a generic definition.
        let is_generic = match &self.functions[index as usize].params {
            Ok(params) => {
                let mut params = params.iter();
                params.any(|param| param.takes_function || tables.types.is_generic(param.ty))
            }
            Err(_) => true,
        };
        if self.may_define && !is_generic && mentions_static(tables, node.body) {
            self.statics_in_body(tables, node.body, &mut found);
        }
        found.values
    }

    fn statics_in_body(&mut self, tables: &mut Tables<'_>, body: List, found: &mut Found) {
        for at in body.start..body.start + body.len {
            let stmt = tables.tree.stmt(tables.tree.stmt_lists[at as usize]);
            let parts: Vec<ExprId> = match stmt.kind {
                StmtKind::Expr(value) | StmtKind::Assert(value) => vec![value],
                StmtKind::Return(value) => value.into_iter().collect(),
                StmtKind::Assign { targets, value } => {
                    let targets = tables.tree.exprs_in(targets).iter().copied();
                    targets.chain([value]).collect()
                }
                StmtKind::AugAssign { target, value, .. } => vec![target, value],
                StmtKind::AnnAssign { target, value, .. } => {
                    [target].into_iter().chain(value).collect()
                }
                StmtKind::If { test, .. } | StmtKind::While { test, .. } => vec![test],
                StmtKind::For { .. } => Vec::new(),
                _ => continue,
            };
            for part in parts {
                self.statics_in(tables, part, found);
            }
            match stmt.kind {
                StmtKind::If { body, orelse, .. } => {
                    self.statics_in_body(tables, body, found);
                    self.statics_in_body(tables, orelse, found);
                }
                StmtKind::While { body, .. } => self.statics_in_body(tables, body, found),
                StmtKind::For { target, iter, body } => {
                    let before = found.loops.len();
                    if let ExprKind::Name(name) = tables.tree.expr(target).kind {
                        found.loops.push(name);
                    }
                    self.statics_in(tables, iter, found);
                    self.statics_in_body(tables, body, found);
                    found.loops.truncate(before);
                }
                _ => {}
            }
        }
    }

    /// Goes through an expression in the order of Python's fields, in which Warp meets the calls.
    fn statics_in(&mut self, tables: &mut Tables<'_>, expr: ExprId, found: &mut Found) {
        if let ExprKind::Call {
            func,
            args,
            keywords,
        } = tables.tree.expr(expr).kind
            && keywords.len == 0
            && let &[argument] = tables.tree.exprs_in(args)
            && matches!(path(self, tables, func), Global::Builtin(index)
                if BUILTINS[usize::from(index)].name == "static")
            && self.work_out_static(tables, argument, found)
        {
            return;
        }
        let parts = match tables.tree.expr(expr).kind {
            ExprKind::IfElse { test, body, orelse } => vec![test, body, orelse],
            _ => tables.tree.parts(expr),
        };
        for part in parts {
            self.statics_in(tables, part, found);
        }
    }

    /// Works out what a call of `wp.static` is given; whether it is done with.
    fn work_out_static(
        &mut self,
        tables: &mut Tables<'_>,
        argument: ExprId,
        found: &mut Found,
    ) -> bool {
        let mut names = Vec::new();
        tables.tree.names_in(argument, &mut names);
        if names.iter().any(|name| found.loops.contains(name)) {
            return false;
        }
        if !has_call(tables, argument) {
            return true;
        }
        let before = self.calls.len();
        let value = evaluate(self, tables, argument);
        if self.calls.len() > before {
            found.values.push((argument, value));
        }
        !matches!(value, Global::Opaque(_))
    }
}

/// Whether the text of a body has the name at all, which few have.
fn mentions_static(tables: &Tables<'_>, body: List) -> bool {
    let statements = tables.tree.stmts_in(body);
    let statements = statements.iter().map(|id| tables.tree.stmt(*id));
    let (start, end) = statements.fold((u32::MAX, 0), |(start, end), stmt| {
        (start.min(stmt.start), end.max(stmt.end))
    });
    let text = tables.text.get(start as usize..end as usize);
    text.is_some_and(|text| text.contains("static("))
}

fn has_call(tables: &Tables<'_>, expr: ExprId) -> bool {
    matches!(tables.tree.expr(expr).kind, ExprKind::Call { .. })
        || (tables.tree.parts(expr).into_iter()).any(|part| has_call(tables, part))
}
