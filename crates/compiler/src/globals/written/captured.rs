//! The parameters of a factory that its kernels and functions depend on.

use crate::globals::Tables;
use crate::globals::bindings::of_function;
use crate::syntax::{ExprId, FunctionNode, List, StmtKind, Tree};
use warpsmith_ir::names::Name;

/// The parameters whose values decorated functions inside see, by themselves or by way of names that are set from them.
pub(in crate::globals) fn captured_parameters(
    tables: &mut Tables<'_>,
    node: &FunctionNode,
) -> Vec<Name> {
    let mut seen = Vec::new();
    captured_in(tables, node.body, &mut seen);
    loop {
        let before = seen.len();
        through_names(tables.tree, node.body, &mut seen);
        if seen.len() == before {
            break;
        }
    }
    let list = node.parameters;
    let parameters = &tables.tree.parameters[list.start as usize..][..list.len as usize];
    let names = parameters.iter().map(|parameter| parameter.name);
    names.filter(|name| seen.contains(name)).collect()
}

/// The names that decorated functions among these statements and inside them use and do not bind.
fn captured_in(tables: &mut Tables<'_>, body: List, seen: &mut Vec<Name>) {
    for at in body.start..body.start + body.len {
        let stmt = tables.tree.stmt(tables.tree.stmt_lists[at as usize]);
        match stmt.kind {
            StmtKind::Function(index) => {
                let node = tables.tree.functions[index as usize];
                if node.decorators.len == 0 {
                    captured_in(tables, node.body, seen);
                    continue;
                }
                let bound = of_function(tables, &node);
                let mut used = Vec::new();
                tables.tree.names_of_function(&node, &mut used);
                for decorator in tables.tree.exprs_in(node.decorators) {
                    tables.tree.names_in(*decorator, &mut used);
                }
                used.retain(|name| !bound.iter().any(|own| own.name == *name));
                for name in used {
                    if !seen.contains(&name) {
                        seen.push(name);
                    }
                }
            }
            StmtKind::If { body, orelse, .. } => {
                captured_in(tables, body, seen);
                captured_in(tables, orelse, seen);
            }
            StmtKind::For { body, .. }
            | StmtKind::While { body, .. }
            | StmtKind::Block { body, .. } => captured_in(tables, body, seen),
            StmtKind::Class(index) => {
                let body = tables.tree.classes[index as usize].body;
                captured_in(tables, body, seen);
            }
            _ => {}
        }
    }
}

/// Adds the names that those seen are set from.
fn through_names(tree: &Tree, body: List, seen: &mut Vec<Name>) {
    for id in tree.stmts_in(body) {
        match tree.stmt(*id).kind {
            StmtKind::Assign { targets, value } => {
                let targets = tree.exprs_in(targets).to_vec();
                through_value(tree, &targets, value, seen);
            }
            StmtKind::AnnAssign {
                target,
                value: Some(value),
                ..
            }
            | StmtKind::AugAssign { target, value, .. } => {
                through_value(tree, &[target], value, seen);
            }
            StmtKind::For { target, iter, body } => {
                through_value(tree, &[target], iter, seen);
                through_names(tree, body, seen);
            }
            StmtKind::If { body, orelse, .. } => {
                through_names(tree, body, seen);
                through_names(tree, orelse, seen);
            }
            StmtKind::While { body, .. } | StmtKind::Block { body, .. } => {
                through_names(tree, body, seen);
            }
            _ => {}
        }
    }
}

fn through_value(tree: &Tree, targets: &[ExprId], value: ExprId, seen: &mut Vec<Name>) {
    let is_seen = |target: &ExprId| {
        let mut names = Vec::new();
        tree.names_in(*target, &mut names);
        names.iter().any(|name| seen.contains(name))
    };
    if targets.iter().any(is_seen) {
        tree.names_in(value, seen);
    }
}
