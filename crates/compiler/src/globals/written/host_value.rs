//! What expressions of functions that nothing runs have for values, as far as the text says.

use std::rc::Rc;

use super::outline::{Frame, Frames, Outline, Site, is_target, owner};
use crate::globals::display::same;
use crate::globals::evaluate::{binary, evaluate};
use crate::globals::host_call::is_plain;
use crate::globals::value::Tables;
use crate::globals::variants::text_of;
use crate::globals::{Global, Scope};
use crate::syntax::{CompareOp, ExprId, ExprKind, List, Stmt, StmtKind};
use warpsmith_ir::names::Name;
use warpsmith_ir::{Comparison, Constant, Number};

/// Expressions inside expressions, and items of a list: bounds on what a source can make us do.
const DEEPEST: u32 = 64;
pub(super) const MOST_ITEMS: usize = 4096;

/// A value with the text that Python has for it.
#[derive(Clone, Debug)]
pub(super) enum HostValue {
    Value(Global, String),
    List(Vec<HostValue>),
    Table(Vec<(HostValue, HostValue)>),
    /// What a parser makes of the command line, by the parser's name and where that stands.
    Arguments(Name, Frames),
}

/// Something that has several values one after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Choice {
    /// The pass of a loop, by what it goes over.
    Pass(ExprId),
    /// The call of a function.
    Call(u32),
}

/// Why a value is not known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stop {
    Unknown,
    /// It depends on a choice among so many.
    Choose(Choice, usize),
}

pub(super) type Found = Result<HostValue, Stop>;

pub(super) struct Search<'a, 'b> {
    pub(super) scope: &'a mut Scope,
    pub(super) tables: &'a mut Tables<'b>,
    pub(super) outline: &'a Outline,
    chosen: &'a [(Choice, usize)],
    depth: u32,
}

impl<'a, 'b> Search<'a, 'b> {
    pub(super) fn new(
        scope: &'a mut Scope,
        tables: &'a mut Tables<'b>,
        outline: &'a Outline,
        chosen: &'a [(Choice, usize)],
    ) -> Self {
        Self {
            scope,
            tables,
            outline,
            chosen,
            depth: 0,
        }
    }

    fn choose(&self, choice: Choice, count: usize) -> Result<usize, Stop> {
        let mut chosen = self.chosen.iter();
        match chosen.find(|(known, _)| *known == choice) {
            Some((_, at)) if *at < count => Ok(*at),
            Some(_) => Err(Stop::Unknown),
            None => Err(Stop::Choose(choice, count)),
        }
    }

    /// What a call gives a parameter.
    pub(super) fn argument(&mut self, function: u32, site: &Site, name: Name) -> Found {
        let node = self.tables.tree.functions[function as usize];
        let ExprKind::Call { args, keywords, .. } = self.tables.tree.expr(site.call).kind else {
            return Err(Stop::Unknown);
        };
        let list = node.parameters;
        let parameters = &self.tables.tree.parameters[list.start as usize..][..list.len as usize];
        let at = parameters.iter().position(|own| own.name == name);
        let default = at.and_then(|at| parameters[at].default);
        let args = self.tables.tree.exprs_in(args).to_vec();
        let keywords = self.tables.tree.keywords_in(keywords).to_vec();
        let is_spread =
            |arg: &ExprId| matches!(self.tables.tree.expr(*arg).kind, ExprKind::Starred(_));
        if args.iter().any(is_spread) || keywords.iter().any(|keyword| keyword.name.is_none()) {
            return Err(Stop::Unknown);
        }
        let at = at.and_then(|at| at.checked_sub(usize::from(site.is_bound)));
        let named = keywords.iter().find(|keyword| keyword.name == Some(name));
        match (at.and_then(|at| args.get(at)), named, default) {
            (Some(given), None, _) if node.plain => self.value(*given, &site.frames),
            (None, Some(given), _) => self.value(given.value, &site.frames),
            (None, None, Some(default)) => self.value(default, &Rc::from([])),
            _ => Err(Stop::Unknown),
        }
    }

    pub(super) fn value(&mut self, expr: ExprId, frames: &Frames) -> Found {
        if self.depth == DEEPEST {
            return Err(Stop::Unknown);
        }
        self.depth += 1;
        let found = self.value_of(expr, frames);
        self.depth -= 1;
        found
    }

    fn value_of(&mut self, expr: ExprId, frames: &Frames) -> Found {
        match self.tables.tree.expr(expr).kind {
            ExprKind::Name(name) => self.name(expr, name, frames),
            ExprKind::Tuple(list) | ExprKind::ListDisplay(list) => {
                self.values(list, frames).map(HostValue::List)
            }
            ExprKind::Dict(list) => {
                let values = self.values(list, frames)?;
                let pairs = values.chunks_exact(2);
                let pairs = pairs.map(|pair| (pair[0].clone(), pair[1].clone()));
                Ok(HostValue::Table(pairs.collect()))
            }
            ExprKind::Subscript(base, index) => {
                let base = self.value(base, frames)?;
                let index = self.value(index, frames)?;
                item(base, &index)
            }
            ExprKind::Attribute(base, name) => self.attribute(expr, base, name, frames),
            ExprKind::IfElse { test, body, orelse } => match self.truth(test, frames)? {
                true => self.value(body, frames),
                false => self.value(orelse, frames),
            },
            ExprKind::Binary(op, left, right) => {
                let left = global(self.value(left, frames)?)?;
                let right = global(self.value(right, frames)?)?;
                let result = binary(self.scope, self.tables, op, left, right);
                self.written(result, None)
            }
            ExprKind::Call {
                func,
                args,
                keywords,
            } => self.call(expr, (func, args, keywords), frames),
            _ => self.of_module(expr, frames),
        }
    }

    fn values(&mut self, list: List, frames: &Frames) -> Result<Vec<HostValue>, Stop> {
        let items = self.tables.tree.exprs_in(list).to_vec();
        if items.len() > MOST_ITEMS {
            return Err(Stop::Unknown);
        }
        let values = items.into_iter().map(|item| self.value(item, frames));
        values.collect()
    }

    fn truth(&mut self, test: ExprId, frames: &Frames) -> Result<bool, Stop> {
        if let ExprKind::Compare(operands, first) = self.tables.tree.expr(test).kind
            && let &[left, right] = self.tables.tree.exprs_in(operands)
        {
            let op = self.tables.tree.compares[first as usize];
            let (Global::Value(left), Global::Value(right)) = (
                global(self.value(left, frames)?)?,
                global(self.value(right, frames)?)?,
            ) else {
                return Err(Stop::Unknown);
            };
            let is_same = same(left, right).ok_or(Stop::Unknown)?;
            return match op {
                CompareOp::Known(Comparison::Equal) => Ok(is_same),
                CompareOp::Known(Comparison::NotEqual) => Ok(!is_same),
                _ => Err(Stop::Unknown),
            };
        }
        match global(self.value(test, frames)?)? {
            Global::Value(constant) => constant.truth().ok_or(Stop::Unknown),
            Global::Nothing => Ok(false),
            _ => Err(Stop::Unknown),
        }
    }

    /// A value that the module's own names give alone.
    pub(super) fn of_module(&mut self, expr: ExprId, frames: &Frames) -> Found {
        let mut pending = vec![expr];
        while let Some(part) = pending.pop() {
            if let ExprKind::Name(name) = self.tables.tree.expr(part).kind
                && self.is_local(name, frames)
            {
                return Err(Stop::Unknown);
            }
            pending.extend(self.tables.tree.parts(part));
        }
        let value = evaluate(self.scope, self.tables, expr);
        self.written(value, Some(expr))
    }

    /// A value with its text: Python's for numbers and texts, else that of the expression that gives it.
    pub(super) fn written(&self, value: Global, expr: Option<ExprId>) -> Found {
        let text = match value {
            Global::Value(Constant::Number(Number::Int(value))) => value.to_string(),
            Global::Value(Constant::Number(Number::Float(value))) if value.is_finite() => {
                format!("{value:?}")
            }
            Global::Value(Constant::Bool(true)) => "True".to_owned(),
            Global::Value(Constant::Bool(false)) => "False".to_owned(),
            Global::Value(Constant::Str(text)) => format!("{:?}", self.tables.names.get(text)),
            Global::Nothing => "None".to_owned(),
            value if is_plain(value) => match expr {
                Some(expr) => text_of(self.tables, expr),
                None => return Err(Stop::Unknown),
            },
            _ => return Err(Stop::Unknown),
        };
        Ok(HostValue::Value(value, text))
    }

    /// Whether a name is a function's, or one that the module sets where only a script comes.
    fn is_local(&self, name: Name, frames: &Frames) -> bool {
        self.outline.owner_of(name, frames).is_some()
            || self
                .scope
                .get(name)
                .is_none_or(|value| matches!(value, Global::Opaque(_)))
                && !self.outline.binders(None, name).is_empty()
    }

    fn name(&mut self, expr: ExprId, name: Name, frames: &Frames) -> Found {
        let owner_of = self.outline.owner_of(name, frames);
        // A factory around this one that is being read.
        if owner_of.is_some()
            && let Some(value @ Global::Value(_)) = self.scope.enclosing_value(name)
        {
            return self.written(value, None);
        }
        let binders = self.outline.binders(owner_of, name);
        if owner_of.is_none() {
            let known = self.scope.get(name);
            if binders.is_empty() || known.is_some_and(is_plain) {
                let value = evaluate(self.scope, self.tables, expr);
                return self.written(value, Some(expr));
            }
        }
        if self.is_filled(name) {
            return Err(Stop::Unknown);
        }
        // The loops around the expression that are the name's own.
        let is_loop = |(stmt, _): &(Stmt, Frames)| matches!(stmt.kind, StmtKind::For { .. });
        if !binders.is_empty() && binders.iter().all(is_loop) {
            let around = frames.iter().enumerate().rev();
            let own = around.filter(|(at, _)| owner(&frames[..*at]) == owner_of);
            for (at, frame) in own {
                if let Frame::For { target, iter } = frame
                    && is_target(self.tables.tree, *target, name)
                {
                    return self.pass(*target, *iter, &Rc::from(&frames[..at]), name);
                }
            }
            return Err(Stop::Unknown);
        }
        match (binders.as_slice(), owner_of) {
            ([], Some(function)) => self.parameter(function, name),
            ([(stmt, around)], _) => match stmt.kind {
                StmtKind::Assign { targets, value } => {
                    let around = around.clone();
                    let &[target] = self.tables.tree.exprs_in(targets) else {
                        return Err(Stop::Unknown);
                    };
                    let value = self.value(value, &around)?;
                    self.part(target, value, name)
                }
                _ => Err(Stop::Unknown),
            },
            _ => Err(Stop::Unknown),
        }
    }

    /// What a pass of a loop gives a name of its target.
    fn pass(&mut self, target: ExprId, iter: ExprId, frames: &Frames, name: Name) -> Found {
        let HostValue::List(items) = self.value(iter, frames)? else {
            return Err(Stop::Unknown);
        };
        let at = self.choose(Choice::Pass(iter), items.len())?;
        let item = items.into_iter().nth(at).ok_or(Stop::Unknown)?;
        self.part(target, item, name)
    }

    /// The part of a value that a name of a target has.
    fn part(&self, target: ExprId, value: HostValue, name: Name) -> Found {
        match self.tables.tree.expr(target).kind {
            ExprKind::Name(own) if own == name => Ok(value),
            ExprKind::Tuple(list) | ExprKind::ListDisplay(list) => {
                let targets = self.tables.tree.exprs_in(list);
                let HostValue::List(items) = value else {
                    return Err(Stop::Unknown);
                };
                if items.len() != targets.len() {
                    return Err(Stop::Unknown);
                }
                let mut pairs = targets.iter().zip(items);
                let own = pairs.find(|(target, _)| is_target(self.tables.tree, **target, name));
                let (target, item) = own.ok_or(Stop::Unknown)?;
                self.part(*target, item, name)
            }
            _ => Err(Stop::Unknown),
        }
    }

    fn parameter(&mut self, function: u32, name: Name) -> Found {
        let sites = self.outline.calls_of(self.tables, function);
        match sites.as_slice() {
            [] => {
                // Nobody is seen to call it: a call may leave the parameter out.
                let node = self.tables.tree.functions[function as usize];
                let list = node.parameters;
                let own = &self.tables.tree.parameters[list.start as usize..][..list.len as usize];
                let default = own.iter().find(|own| own.name == name);
                let default = default.and_then(|own| own.default).ok_or(Stop::Unknown)?;
                self.value(default, &Rc::from([]))
            }
            sites => {
                let at = self.choose(Choice::Call(function), sites.len())?;
                self.argument(function, &sites[at], name)
            }
        }
    }

    fn attribute(&mut self, expr: ExprId, base: ExprId, name: Name, frames: &Frames) -> Found {
        let ExprKind::Name(root) = self.tables.tree.expr(base).kind else {
            return self.of_module(expr, frames);
        };
        let around = frames
            .iter()
            .rposition(|frame| matches!(frame, Frame::Function(_)));
        if let Some(at) = around.filter(|at| *at > 0)
            && let (Frame::Class(class), Frame::Function(method)) = (frames[at - 1], frames[at])
        {
            let node = self.tables.tree.functions[method as usize];
            let first = self
                .tables
                .tree
                .parameters
                .get(node.parameters.start as usize);
            let is_own = node.parameters.len > 0 && node.decorators.len == 0;
            if is_own && first.is_some_and(|first| first.name == root) {
                return self.own_attribute(class, name);
            }
        }
        if !self.is_local(root, frames) {
            return self.of_module(expr, frames);
        }
        // Whoever calls what with which object is looked up for the command line's alone.
        let add = self
            .tables
            .names
            .find("add_argument")
            .ok_or(Stop::Unknown)?;
        if self.outline.calls_named(add).next().is_none() {
            return Err(Stop::Unknown);
        }
        match self.value(base, frames)? {
            HostValue::Arguments(parser, at) => self.option(parser, &at, root, name),
            _ => Err(Stop::Unknown),
        }
    }

    /// What the methods of a class set an attribute of its objects to, if they do it once.
    fn own_attribute(&mut self, class: u32, name: Name) -> Found {
        let tree = &*self.tables.tree;
        let mut found = None;
        for (stmt, frames) in &self.outline.statements {
            if !frames.contains(&Frame::Class(class)) {
                continue;
            }
            let is_it = |target: &ExprId| matches!(tree.expr(*target).kind, ExprKind::Attribute(_, own) if own == name);
            match stmt.kind {
                StmtKind::Assign { targets, value } if tree.exprs_in(targets).iter().any(is_it) => {
                    if found.is_some() || targets.len != 1 {
                        return Err(Stop::Unknown);
                    }
                    found = Some((value, frames.clone()));
                }
                StmtKind::AugAssign { target, .. } if is_it(&target) => {
                    return Err(Stop::Unknown);
                }
                _ => {}
            }
        }
        let (value, frames) = found.ok_or(Stop::Unknown)?;
        self.value(value, &frames)
    }

    /// Whether the source changes what a name stands for in place.
    fn is_filled(&self, name: Name) -> bool {
        let tree = &*self.tables.tree;
        let is = |expr: ExprId| tree.expr(expr).kind == ExprKind::Name(name);
        let changes = |expr: ExprId| {
            let ExprKind::Call { func, .. } = tree.expr(expr).kind else {
                return false;
            };
            let ExprKind::Attribute(base, method) = tree.expr(func).kind else {
                return false;
            };
            is(base)
                && matches!(
                    self.tables.names.get(method),
                    "append"
                        | "extend"
                        | "insert"
                        | "pop"
                        | "remove"
                        | "clear"
                        | "sort"
                        | "reverse"
                        | "update"
                        | "setdefault"
                        | "popitem"
                )
        };
        self.outline
            .statements
            .iter()
            .any(|(stmt, _)| match stmt.kind {
                StmtKind::Expr(value) => changes(value),
                StmtKind::Assign { targets, value } => {
                    let mut targets = tree.exprs_in(targets).iter();
                    let is_item = targets.any(|target| match tree.expr(*target).kind {
                        ExprKind::Subscript(base, _) => is(base),
                        _ => false,
                    });
                    is_item || changes(value)
                }
                _ => false,
            })
    }
}

pub(super) fn global(value: HostValue) -> Result<Global, Stop> {
    match value {
        HostValue::Value(value, _) => Ok(value),
        _ => Err(Stop::Unknown),
    }
}

/// An item of a list or a table.
fn item(of: HostValue, index: &HostValue) -> Found {
    let HostValue::Value(Global::Value(key), _) = index else {
        return Err(Stop::Unknown);
    };
    match of {
        HostValue::List(items) => {
            let at = key.as_int().ok_or(Stop::Unknown)?;
            let at = if at < 0 { at + items.len() as i128 } else { at };
            let at = usize::try_from(at).map_err(|_| Stop::Unknown)?;
            items.into_iter().nth(at).ok_or(Stop::Unknown)
        }
        HostValue::Table(pairs) => {
            // The last of equal keys counts.
            let mut found = Err(Stop::Unknown);
            for (other, value) in pairs {
                let HostValue::Value(Global::Value(other), _) = other else {
                    return Err(Stop::Unknown);
                };
                if same(*key, other).ok_or(Stop::Unknown)? {
                    found = Ok(value);
                }
            }
            found
        }
        _ => Err(Stop::Unknown),
    }
}
