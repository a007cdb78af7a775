//! The names that parts of a tree mention.

use super::{ExprId, ExprKind, FunctionNode, List, StmtKind, Tree};
use warpsmith_ir::names::Name;

impl Tree {
    /// Adds the names in an expression, each once.
    pub(crate) fn names_in(&self, expr: ExprId, names: &mut Vec<Name>) {
        if let ExprKind::Name(name) = self.expr(expr).kind
            && !names.contains(&name)
        {
            names.push(name);
        }
        for part in self.parts(expr) {
            self.names_in(part, names);
        }
    }

    /// Adds the names in a function's parameters, return annotation and body; its decorators stand before it.
    pub(crate) fn names_of_function(&self, node: &FunctionNode, names: &mut Vec<Name>) {
        let list = node.parameters;
        let parameters = &self.parameters[list.start as usize..][..list.len as usize];
        let parts = parameters
            .iter()
            .flat_map(|parameter| [parameter.annotation, parameter.default]);
        for expr in parts.chain([node.returns]).flatten() {
            self.names_in(expr, names);
        }
        self.names_of_body(node.body, names);
    }

    /// Adds the names in statements and in all that stands inside them.
    pub(crate) fn names_of_body(&self, body: List, names: &mut Vec<Name>) {
        for id in self.stmts_in(body) {
            let (list, parts) = match self.stmt(*id).kind {
                StmtKind::Assign { targets, value } => (Some(targets), [Some(value), None, None]),
                StmtKind::AugAssign { target, value, .. } => {
                    (None, [Some(target), Some(value), None])
                }
                StmtKind::AnnAssign {
                    target,
                    annotation,
                    value,
                } => (None, [Some(target), Some(annotation), value]),
                StmtKind::Expr(value) | StmtKind::Assert(value) => {
                    (None, [Some(value), None, None])
                }
                StmtKind::Return(value) => (None, [value, None, None]),
                StmtKind::If { test, body, orelse } => {
                    self.names_in(test, names);
                    self.names_of_body(body, names);
                    self.names_of_body(orelse, names);
                    continue;
                }
                StmtKind::For { target, iter, body } => {
                    self.names_in(target, names);
                    self.names_in(iter, names);
                    self.names_of_body(body, names);
                    continue;
                }
                StmtKind::While { test, body } => {
                    self.names_in(test, names);
                    self.names_of_body(body, names);
                    continue;
                }
                StmtKind::Block { body, .. } => {
                    self.names_of_body(body, names);
                    continue;
                }
                StmtKind::Function(index) => {
                    let node = &self.functions[index as usize];
                    self.names_of_function(node, names);
                    (Some(node.decorators), [None; 3])
                }
                StmtKind::Class(index) => {
                    let node = &self.classes[index as usize];
                    self.names_of_body(node.body, names);
                    for base in self.exprs_in(node.bases) {
                        self.names_in(*base, names);
                    }
                    (Some(node.decorators), [None; 3])
                }
                StmtKind::Delete(list) | StmtKind::Global(list) => (Some(list), [None; 3]),
                StmtKind::Import(_)
                | StmtKind::ImportFrom { .. }
                | StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Pass
                | StmtKind::Unsupported(_) => continue,
            };
            let list = list.map_or(&[][..], |list| self.exprs_in(list));
            for expr in list.iter().copied().chain(parts.into_iter().flatten()) {
                self.names_in(expr, names);
            }
        }
    }
}
