//! The statements of the source, each with what stands around it.

use std::collections::HashMap;
use std::rc::Rc;

use crate::globals::Tables;
use crate::globals::bindings::of_function;
use crate::syntax::{ExprId, ExprKind, List, Stmt, StmtKind, Tree};
use warpsmith_ir::names::Name;

/// Something that statements stand in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Frame {
    For { target: ExprId, iter: ExprId },
    Function(u32),
    Class(u32),
}

/// What stands around a statement, the outermost first.
pub(super) type Frames = Rc<[Frame]>;

/// The function that a statement belongs to; nothing for those of the module.
pub(super) fn owner(frames: &[Frame]) -> Option<u32> {
    frames.iter().rev().find_map(|frame| match frame {
        Frame::Function(function) => Some(*function),
        _ => None,
    })
}

/// A call with what stands around it.
#[derive(Clone, Debug)]
pub(super) struct Site {
    pub(super) call: ExprId,
    pub(super) frames: Frames,
    /// Whether the first argument goes to the second parameter.
    pub(super) is_bound: bool,
}

/// A call with what it calls and what stands around it.
type Call = (ExprId, ExprId, Frames);

/// All statements, those inside others behind them.
#[derive(Debug, Default)]
pub(in crate::globals) struct Outline {
    pub(super) statements: Vec<(Stmt, Frames)>,
    /// The statements that bind a name.
    binders: HashMap<Name, Vec<u32>>,
    /// The calls of something by its last name.
    calls: HashMap<Name, Vec<Call>>,
    /// The names that functions bind.
    locals: HashMap<u32, Vec<Name>>,
}

impl Outline {
    /// The statements of a module.
    pub(super) fn of(tables: &mut Tables<'_>, body: List) -> Self {
        let mut outline = Self::default();
        outline.walk(tables.tree, body, &mut Vec::new());
        let functions = outline.statements.iter();
        let functions: Vec<u32> = functions
            .filter_map(|(stmt, _)| match stmt.kind {
                StmtKind::Function(index) => Some(index),
                _ => None,
            })
            .collect();
        for index in functions {
            let node = tables.tree.functions[index as usize];
            let bound = of_function(tables, &node);
            let names = bound.into_iter().map(|own| own.name);
            outline.locals.insert(index, names.collect());
        }
        outline
    }

    fn walk(&mut self, tree: &Tree, body: List, around: &mut Vec<Frame>) {
        let frames: Frames = around.as_slice().into();
        for id in tree.stmts_in(body) {
            let stmt = tree.stmt(*id);
            self.note(tree, stmt, &frames);
            let (frame, inside) = match stmt.kind {
                StmtKind::If { body, orelse, .. } => {
                    self.walk(tree, body, around);
                    self.walk(tree, orelse, around);
                    continue;
                }
                StmtKind::While { body, .. } | StmtKind::Block { body, .. } => {
                    self.walk(tree, body, around);
                    continue;
                }
                StmtKind::For { target, iter, body } => (Frame::For { target, iter }, body),
                StmtKind::Function(index) => {
                    let body = tree.functions[index as usize].body;
                    (Frame::Function(index), body)
                }
                StmtKind::Class(index) => {
                    let body = tree.classes[index as usize].body;
                    (Frame::Class(index), body)
                }
                _ => continue,
            };
            around.push(frame);
            self.walk(tree, inside, around);
            around.pop();
        }
    }

    fn note(&mut self, tree: &Tree, stmt: Stmt, frames: &Frames) {
        let at = self.statements.len() as u32;
        let mut names = Vec::new();
        bound_by(tree, &stmt, &mut names);
        for name in names {
            self.binders.entry(name).or_default().push(at);
        }
        for expr in expressions(tree, &stmt) {
            self.note_calls(tree, expr, frames);
        }
        self.statements.push((stmt, frames.clone()));
    }

    fn note_calls(&mut self, tree: &Tree, expr: ExprId, frames: &Frames) {
        if let ExprKind::Call { func, .. } = tree.expr(expr).kind {
            let name = match tree.expr(func).kind {
                ExprKind::Name(name) | ExprKind::Attribute(_, name) => Some(name),
                ExprKind::Subscript(base, _) => match tree.expr(base).kind {
                    ExprKind::Name(name) => Some(name),
                    _ => None,
                },
                _ => None,
            };
            if let Some(name) = name {
                let calls = self.calls.entry(name).or_default();
                calls.push((expr, func, frames.clone()));
            }
        }
        for part in tree.parts(expr) {
            self.note_calls(tree, part, frames);
        }
    }

    /// The calls of anything with this last name.
    pub(super) fn calls_named(&self, name: Name) -> impl Iterator<Item = (&ExprId, &Frames)> {
        let all = self.calls.get(&name).map_or(&[][..], Vec::as_slice);
        all.iter().map(|(call, _, frames)| (call, frames))
    }

    /// The innermost function around whose name this is, if any.
    pub(super) fn owner_of(&self, name: Name, frames: &[Frame]) -> Option<u32> {
        frames.iter().rev().find_map(|frame| match frame {
            Frame::Function(function) => {
                let own = self.locals.get(function);
                own.is_some_and(|own| own.contains(&name))
                    .then_some(*function)
            }
            _ => None,
        })
    }

    /// The statements that bind a name of a function, or of the module.
    pub(super) fn binders(&self, of: Option<u32>, name: Name) -> Vec<(Stmt, Frames)> {
        let all = self.binders.get(&name).map_or(&[][..], Vec::as_slice);
        let all = all.iter().map(|at| &self.statements[*at as usize]);
        let own = all.filter(|(_, frames)| {
            owner(frames) == of && !matches!(frames.last(), Some(Frame::Class(_)))
        });
        own.cloned().collect()
    }

    /// The calls of a function: by its name, through a table that has it, of a class whose `__init__` it is, or as a
    /// method whose name no other function has.
    pub(super) fn calls_of(&self, tables: &Tables<'_>, function: u32) -> Vec<Site> {
        let tree = &*tables.tree;
        let node = &tree.functions[function as usize];
        let defined = |at: &u32| {
            let (stmt, _) = &self.statements[*at as usize];
            matches!(stmt.kind, StmtKind::Function(_)).then_some(stmt.kind)
        };
        let namesakes = self.binders.get(&node.name).map_or(&[][..], Vec::as_slice);
        let is_it =
            |at: &&u32| matches!(defined(at), Some(StmtKind::Function(index)) if index == function);
        let Some(own) = namesakes.iter().find(is_it) else {
            return Vec::new();
        };
        let is_alone = namesakes.iter().filter_map(defined).count() == 1;
        let class = match self.statements[*own as usize].1.last() {
            Some(Frame::Class(class)) => Some(tree.classes[*class as usize].name),
            _ => None,
        };
        let is_init = tables.names.get(node.name) == "__init__";
        let is_bound = class.is_some() && node.decorators.len == 0;
        let mut found = Vec::new();
        let mut add = |name: Name, is_callee: &dyn Fn(ExprKind) -> bool| {
            for (call, func, frames) in self.calls.get(&name).map_or(&[][..], Vec::as_slice) {
                if is_callee(tree.expr(*func).kind) {
                    found.push(Site {
                        call: *call,
                        frames: frames.clone(),
                        is_bound,
                    });
                }
            }
        };
        let by_name = |kind| matches!(kind, ExprKind::Name(_));
        match class {
            Some(class) if is_init => add(class, &by_name),
            Some(_) if is_alone => add(node.name, &|kind| matches!(kind, ExprKind::Attribute(..))),
            Some(_) => {}
            None => {
                add(node.name, &by_name);
                for (table, items) in self.tables_with(tree, node.name) {
                    add(table, &|kind| matches!(kind, ExprKind::Subscript(..)));
                    for item in items {
                        add(item, &by_name);
                    }
                }
            }
        }
        found.sort_by_key(|site| tree.expr(site.call).start);
        found
    }

    /// The names of lists and dictionaries that have a function among their items, each with the names that items of it
    /// are given.
    fn tables_with(&self, tree: &Tree, function: Name) -> Vec<(Name, Vec<Name>)> {
        let assigned = |stmt: &Stmt| match stmt.kind {
            StmtKind::Assign { targets, value } => match *tree.exprs_in(targets) {
                [target] => match tree.expr(target).kind {
                    ExprKind::Name(name) => Some((name, tree.expr(value).kind)),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        };
        let all = || {
            self.statements
                .iter()
                .filter_map(|(stmt, _)| assigned(stmt))
        };
        let tables = all().filter(|(_, value)| match value {
            ExprKind::Dict(list) | ExprKind::ListDisplay(list) | ExprKind::Tuple(list) => {
                let mut items = tree.exprs_in(*list).iter();
                items.any(|item| tree.expr(*item).kind == ExprKind::Name(function))
            }
            _ => false,
        });
        let with_items = tables.map(|(table, _)| {
            let items = all().filter(|(_, value)| match value {
                ExprKind::Subscript(base, _) => tree.expr(*base).kind == ExprKind::Name(table),
                _ => false,
            });
            (table, items.map(|(name, _)| name).collect())
        });
        with_items.collect()
    }
}

/// Whether a target is a name, or has it among its parts.
pub(super) fn is_target(tree: &Tree, target: ExprId, name: Name) -> bool {
    match tree.expr(target).kind {
        ExprKind::Name(own) => own == name,
        ExprKind::Tuple(list) | ExprKind::ListDisplay(list) => {
            let mut items = tree.exprs_in(list).iter();
            items.any(|item| is_target(tree, *item, name))
        }
        ExprKind::Starred(inner) => is_target(tree, inner, name),
        _ => false,
    }
}

/// Adds the names that a target binds.
fn names_of_target(tree: &Tree, target: ExprId, names: &mut Vec<Name>) {
    match tree.expr(target).kind {
        ExprKind::Name(name) => names.push(name),
        ExprKind::Tuple(list) | ExprKind::ListDisplay(list) => {
            for item in tree.exprs_in(list) {
                names_of_target(tree, *item, names);
            }
        }
        ExprKind::Starred(inner) => names_of_target(tree, inner, names),
        _ => {}
    }
}

/// Adds the names that a statement itself binds.
fn bound_by(tree: &Tree, stmt: &Stmt, names: &mut Vec<Name>) {
    match stmt.kind {
        StmtKind::Assign { targets, .. } | StmtKind::Delete(targets) => {
            for target in tree.exprs_in(targets) {
                names_of_target(tree, *target, names);
            }
        }
        StmtKind::AugAssign { target, .. }
        | StmtKind::AnnAssign { target, .. }
        | StmtKind::For { target, .. } => names_of_target(tree, target, names),
        StmtKind::Function(index) => names.push(tree.functions[index as usize].name),
        StmtKind::Class(index) => names.push(tree.classes[index as usize].name),
        _ => {}
    }
}

/// The expressions of a statement itself, not of those inside it.
fn expressions(tree: &Tree, stmt: &Stmt) -> Vec<ExprId> {
    match stmt.kind {
        StmtKind::Expr(value) | StmtKind::Return(Some(value)) | StmtKind::Assert(value) => {
            vec![value]
        }
        StmtKind::Assign { value, .. } | StmtKind::AugAssign { value, .. } => vec![value],
        StmtKind::AnnAssign { value, .. } => value.into_iter().collect(),
        StmtKind::If { test, .. } | StmtKind::While { test, .. } => vec![test],
        StmtKind::For { iter, .. } => vec![iter],
        StmtKind::Function(index) => {
            let decorators = tree.functions[index as usize].decorators;
            tree.exprs_in(decorators).to_vec()
        }
        _ => Vec::new(),
    }
}
