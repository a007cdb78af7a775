//! The functions that Warp's own library defines in Python, from a source that the caller gives.
//!
//! Warp's text quotes the lines of these functions, so they can only be compiled from the library's own
//! file; this crate has no copy of it. The file's text follows the source's own, and what it defines is
//! entered under the builtins' names, out of reach of the source's own names.

use super::annotation::returns;
use super::definition::Returns;
use super::evaluate::{evaluate, path};
use super::value::Tables;
use super::{FunctionDef, Global, Scope};
use crate::diagnostic::Problem;
use crate::syntax::{ExprId, ExprKind, FunctionNode, List, Stmt, StmtKind};
use warpsmith_ir::Origin;
use warpsmith_ir::builtin::BUILTINS;
use warpsmith_ir::names::Name;

/// How many functions the library makes under one name: one for each type where it uses a factory.
pub(super) fn library_overloads(name: &str) -> usize {
    match name {
        "transform_from_matrix"
        | "transform_to_matrix"
        | "transform_compose"
        | "transform_decompose" => 3,
        _ => 1,
    }
}

impl Scope {
    /// The overloads of a builtin that is written in Python, where the library was given.
    pub(crate) fn library_function(&self, builtin: u16) -> Option<u32> {
        let found = self.library.iter().find(|(index, _)| *index == builtin);
        found.map(|(_, set)| *set)
    }

    /// Enters what a statement of the library defines; `factories` are its undecorated functions so far.
    pub(super) fn library_statement(
        &mut self,
        tables: &mut Tables<'_>,
        stmt: Stmt,
        factories: &mut Vec<u32>,
    ) -> Result<(), Problem> {
        match stmt.kind {
            StmtKind::Function(index) => {
                let node = tables.tree.functions[index as usize];
                if node.decorators.len == 0 {
                    factories.push(index);
                    return Ok(());
                }
                self.enter_library(tables, node.name, Vec::new(), |scope, tables| {
                    scope.function(tables, index)
                })
            }
            StmtKind::Assign { value, .. } | StmtKind::Expr(value) => {
                match factory_call(self, tables, value, factories) {
                    Some((factory, arguments)) => self.closure(tables, factory, arguments),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// Runs a factory: its parameters and assignments are what the inner function's names stand for.
    fn closure(
        &mut self,
        tables: &mut Tables<'_>,
        factory: FunctionNode,
        arguments: List,
    ) -> Result<(), Problem> {
        let mut bound = Vec::new();
        let mut bind = |scope: &mut Self, name: Name, value: Global| {
            bound.push((name, scope.get(name), value));
            scope.set(name, value);
        };
        for at in 0..factory.parameters.len.min(arguments.len) {
            let parameter = tables.tree.parameters[(factory.parameters.start + at) as usize];
            let argument = tables.tree.expr_lists[(arguments.start + at) as usize];
            let value = evaluate(self, tables, argument);
            bind(self, parameter.name, value);
        }
        let mut inner = None;
        for at in factory.body.start..factory.body.start + factory.body.len {
            let stmt = tables.tree.stmt_lists[at as usize];
            match tables.tree.stmt(stmt).kind {
                StmtKind::Assign { targets, value } => {
                    let value = evaluate(self, tables, value);
                    let target = tables.tree.exprs_in(targets)[0];
                    if let ExprKind::Name(name) = tables.tree.expr(target).kind {
                        bind(self, name, value);
                    }
                }
                StmtKind::Function(index) => inner = Some(tables.tree.functions[index as usize]),
                _ => {}
            }
        }
        let entered = match inner {
            Some(node) => {
                let closure = bound.iter().map(|(name, _, value)| (*name, *value));
                self.enter_library(tables, node.name, closure.collect(), |scope, tables| {
                    scope.undecorated(tables, &node)
                })
            }
            None => Ok(()),
        };
        for (name, before, _) in bound.into_iter().rev() {
            self.restore(name, before);
        }
        entered
    }

    /// Enters a function that a call of `wp.func` makes of an undecorated one.
    fn undecorated(&mut self, tables: &mut Tables<'_>, node: &FunctionNode) -> Result<(), Problem> {
        let params = self.params(tables, node);
        let returns = match node.returns {
            None => Ok(Returns::Inferred),
            Some(annotation) => returns(self, tables, annotation),
        };
        let line = tables.source.line_of(node.name_span.0);
        let index = self.functions.len() as u32;
        self.functions.push(FunctionDef {
            key: node.name,
            native: node.name,
            params,
            returns,
            body: node.body,
            decorator_line: line,
            def_line: line,
            span: node.name_span,
            inline_hint: "",
            numbered: true,
            instance: false,
            library: true,
            module: self.module(),
            closure: Vec::new(),
            statics: Vec::new(),
            origin: Origin::Compiled,
            gradient: None,
            replay: None,
            reading: 0,
            built: None,
            building: false,
        });
        self.enter_function(tables, node.name, index, &[], node.name_span);
        Ok(())
    }

    /// Enters the one function that `enter` pushes under its builtin's name alone, numbered among the
    /// library's own.
    fn enter_library(
        &mut self,
        tables: &mut Tables<'_>,
        key: Name,
        closure: Vec<(Name, Global)>,
        enter: impl FnOnce(&mut Self, &mut Tables<'_>) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let Some(builtin) = BUILTINS.get(key.index()).filter(|builtin| builtin.python) else {
            return Ok(());
        };
        let at = key.index() as u16;
        let before = self.get(key);
        let set = self.library_function(at);
        self.restore(key, set.map(Global::Function));
        let earlier = self.functions.iter();
        let earlier = earlier.filter(|def| def.library && def.key == key).count();
        let index = self.functions.len();
        enter(self, tables)?;
        if let Some(def) = self.functions.get_mut(index) {
            def.native = tables.names.intern(&format!("{}_{earlier}", builtin.name));
            def.library = true;
            def.closure = closure;
        }
        if let (None, Some(Global::Function(set))) = (set, self.get(key)) {
            self.library.push((at, set));
        }
        self.restore(key, before);
        Ok(())
    }
}

/// `wp.func(factory(arguments), name=…)`: the factory and its arguments.
fn factory_call(
    scope: &Scope,
    tables: &mut Tables<'_>,
    value: ExprId,
    factories: &[u32],
) -> Option<(FunctionNode, List)> {
    let ExprKind::Call { func, args, .. } = tables.tree.expr(value).kind else {
        return None;
    };
    let Global::WarpCallable(name) = path(scope, tables, func) else {
        return None;
    };
    if tables.names.get(name) != "func" {
        return None;
    }
    let &[made] = tables.tree.exprs_in(args) else {
        return None;
    };
    let ExprKind::Call { func, args, .. } = tables.tree.expr(made).kind else {
        return None;
    };
    let ExprKind::Name(called) = tables.tree.expr(func).kind else {
        return None;
    };
    let nodes = factories
        .iter()
        .map(|at| tables.tree.functions[*at as usize]);
    let mut nodes = nodes.filter(|node| node.name == called);
    nodes.next().map(|node| (node, args))
}
