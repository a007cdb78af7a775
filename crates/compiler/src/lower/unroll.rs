//! Deciding how a `for` loop runs, and unrolling the short ones.

use super::body::Body;
use super::value::{Binding, Res, Value, fail, hinted, problem};
use crate::diagnostic::Problem;
use crate::globals::{Global, member_value};
use crate::syntax::{Expr, ExprId, ExprKind, List, Stmt, StmtId, StmtKind, UnaryOp};
use warpsmith_ir::names::Name;
use warpsmith_ir::{Constant, Number, VarId};

/// How a loop runs.
pub(super) enum Plan {
    /// Copied once per value.
    Unroll { start: i64, step: i64, count: u64 },
    /// Over constants, too many to copy.
    Counted { start: i64, stop: i64, step: i64 },
    /// Over a range that has been made.
    Iterate(VarId),
    /// Over something else, which is yet to be evaluated.
    Evaluate,
}

/// An argument of `range`.
enum Bound {
    Number(i64),
    Var(VarId),
}

/// The most operations that one function may grow to by unrolling.
const MAX_OPS: usize = 2_000_000;

impl Body<'_, '_> {
    pub(super) fn plan_loop(&mut self, iter: ExprId, body: List) -> Res<Plan> {
        let ExprKind::Call { func, args, .. } = self.shared.tree.expr(iter).kind else {
            return Ok(Plan::Evaluate);
        };
        let is_range = matches!(self.shared.tree.expr(func).kind, ExprKind::Name(name)
            if self.shared.names.get(name) == "range");
        if !is_range || args.len == 0 || args.len > 3 {
            return Ok(Plan::Evaluate);
        }
        let exprs = self.shared.tree.exprs_in(args).to_vec();
        let mut bounds = Vec::with_capacity(3);
        for expr in exprs {
            bounds.push(self.range_bound(expr)?);
        }
        let numbers: Vec<i64> = bounds
            .iter()
            .filter_map(|bound| match bound {
                Bound::Number(value) => Some(*value),
                Bound::Var(_) => None,
            })
            .collect();
        if numbers.len() == bounds.len() {
            let (start, stop, step) = match *numbers {
                [stop] => (0, stop, 1),
                [start, stop] => (start, stop, 1),
                [start, stop, step] => (start, stop, step),
                _ => return Ok(Plan::Evaluate),
            };
            if step == 0 {
                return fail("K005", "the step of a range is 0");
            }
            let count = range_len(start, stop, step);
            if self.has_deferred_static(iter, body) {
                if self.contains(body, &|kind| matches!(kind, StmtKind::Break)) {
                    return fail("K021", "`break` in a loop that `wp.static` unrolls");
                }
                return Ok(Plan::Unroll { start, step, count });
            }
            if count > self.shared.max_unroll.max(0) as u64 {
                self.long_constant_loop = true;
            } else if !self.contains(body, &|kind| matches!(kind, StmtKind::Break)) {
                return Ok(Plan::Unroll { start, step, count });
            }
            let leaves = |kind: &StmtKind| matches!(kind, StmtKind::Break | StmtKind::Continue);
            if !self.contains(body, &leaves) {
                return Ok(Plan::Counted { start, stop, step });
            }
        }
        let mut vars = Vec::with_capacity(3);
        for bound in bounds {
            vars.push(match bound {
                Bound::Number(value) => self.add_int(value),
                Bound::Var(var) => var,
            });
        }
        let range = self.call_named("range", &vars)?;
        Ok(Plan::Iterate(self.single(range)?))
    }

    /// An argument of `range`: a number where one is known at compile time.
    fn range_bound(&mut self, expr: ExprId) -> Res<Bound> {
        let number = |value: i128| match i64::try_from(value) {
            Ok(value) => Ok(Bound::Number(value)),
            Err(_) => fail("K022", "a loop bound is out of range"),
        };
        match self.shared.tree.expr(expr).kind {
            ExprKind::Int(value) => return number(value),
            ExprKind::Float(_) | ExprKind::Bool(_) | ExprKind::Str(_) => {
                return fail("K007", "the arguments of `range` are integers");
            }
            ExprKind::Unary(UnaryOp::Minus, operand) => {
                if let ExprKind::Int(value) = self.shared.tree.expr(operand).kind {
                    return number(-value);
                }
            }
            _ => {}
        }
        if let Some((args, keywords)) = self.static_call(expr) {
            return number(self.static_bound(expr, args, keywords)?);
        }
        if let ExprKind::Attribute(member, attr) = self.shared.tree.expr(expr).kind
            && self.shared.names.get(attr) == "value"
            && let Some(value) = self.static_path(member).and_then(member_value)
        {
            return number(value);
        }
        let known = match self.static_path(expr) {
            Some(Global::Value(constant)) => Some(constant),
            Some(Global::Opaque(what)) => return Err(self.unknown_bound(expr, what)),
            Some(_) => return fail("K007", "the arguments of `range` are integers"),
            None => match self.eval(expr)? {
                Value::Var(var) => match self.constant(var) {
                    Some(constant) => Some(constant),
                    None => return Ok(Bound::Var(var)),
                },
                other => return self.single(other).map(Bound::Var),
            },
        };
        match known {
            Some(Constant::Number(Number::Int(value))) => number(value),
            _ => fail("K007", "the arguments of `range` are integers"),
        }
    }

    /// An argument of `range` that is not known, and how to say what it is.
    fn unknown_bound(&self, expr: ExprId, what: &str) -> Box<Problem> {
        let shared = &*self.shared;
        let captured = shared.scope.captured_in(shared.tree, shared.names, expr);
        let called = self
            .last_name(expr)
            .map_or("", |name| shared.names.get(name));
        let message = captured.unwrap_or_else(|| format!("`{called}` is {what}"));
        let start = shared.tree.expr(expr).start;
        match shared.scope.how_to_bind(shared.tree, shared.names, start) {
            Some(hint) => hinted("K023", message, hint),
            None => problem("K023", message),
        }
    }

    /// Whether a suite, nested loops apart, contains such a statement.
    fn contains(&self, body: List, wanted: &dyn Fn(&StmtKind) -> bool) -> bool {
        self.shared.tree.stmts_in(body).iter().any(|id| {
            let kind = self.shared.tree.stmt(*id).kind;
            wanted(&kind)
                || matches!(kind, StmtKind::If { body, orelse, .. }
                    if self.contains(body, wanted) || self.contains(orelse, wanted))
        })
    }

    pub(super) fn unroll(
        &mut self,
        name: Name,
        start: i64,
        step: i64,
        count: u64,
        body: List,
    ) -> Res<()> {
        if count > 0 && !self.unrolled.contains(&name) {
            self.unrolled.push(name);
        }
        let mut active = None;
        let mut body = body;
        if count > 0 && self.contains(body, &|kind| matches!(kind, StmtKind::Continue)) {
            let mut flag = format!("_wp_continue_{}", self.labels);
            while self
                .shared
                .names
                .find(&flag)
                .is_some_and(|name| self.is_used(name))
            {
                self.labels += 1;
                flag = format!("_wp_continue_{}", self.labels);
            }
            self.labels += 1;
            let flag = self.shared.names.intern(&flag);
            let ids = self.shared.tree.stmts_in(body).to_vec();
            let (ids, _) = self.guard_continues(&ids, flag);
            body = self.shared.tree.push_stmts(&ids);
            active = Some(flag);
        }
        let mut value = start;
        for _ in 0..count {
            let constant = self.add_int(value);
            self.symbols.set(name, Binding::Var(constant));
            if let Some(flag) = active {
                let constant = self.add_constant(Constant::Bool(true));
                self.symbols.set(flag, Binding::Var(constant));
            }
            self.statements(body)?;
            if self.ops.len() > MAX_OPS {
                return fail("K022", "unrolled loops make the function too large");
            }
            value = value.wrapping_add(step);
        }
        if let Some(flag) = active {
            self.symbols.remove(flag);
        }
        Ok(())
    }

    /// Whether a name is bound, or written anywhere in the source.
    fn is_used(&self, name: Name) -> bool {
        self.symbols.contains(name)
            || self
                .shared
                .tree
                .exprs
                .iter()
                .any(|expr| expr.line != 0 && expr.kind == ExprKind::Name(name))
    }

    /// Rewrites `continue` into a flag, and guards by it whatever follows an `if` that may continue.
    fn guard_continues(&mut self, body: &[StmtId], flag: Name) -> (Vec<StmtId>, bool) {
        let mut result = Vec::with_capacity(body.len());
        for (at, id) in body.iter().enumerate() {
            let stmt = self.shared.tree.stmt(*id);
            match stmt.kind {
                StmtKind::Continue => {
                    let target = self.synthetic(ExprKind::Name(flag));
                    let value = self.synthetic(ExprKind::Bool(false));
                    let targets = self.shared.tree.push_exprs(&[target]);
                    let kind = StmtKind::Assign { targets, value };
                    result.push(self.shared.tree.push_stmt(Stmt { kind, ..stmt }));
                    return (result, true);
                }
                StmtKind::If {
                    test,
                    body: inner,
                    orelse,
                } => {
                    let inner = self.shared.tree.stmts_in(inner).to_vec();
                    let other = self.shared.tree.stmts_in(orelse).to_vec();
                    let (inner, a) = self.guard_continues(&inner, flag);
                    let (other, b) = self.guard_continues(&other, flag);
                    let inner = self.shared.tree.push_stmts(&inner);
                    let orelse = self.shared.tree.push_stmts(&other);
                    let kind = StmtKind::If {
                        test,
                        body: inner,
                        orelse,
                    };
                    result.push(self.shared.tree.push_stmt(Stmt { kind, ..stmt }));
                    if !(a || b) {
                        continue;
                    }
                    let (tail, _) = self.guard_continues(&body[at + 1..], flag);
                    if !tail.is_empty() {
                        let next = self.shared.tree.stmt(body[at + 1]);
                        let test = self.synthetic(ExprKind::Name(flag));
                        let body = self.shared.tree.push_stmts(&tail);
                        let orelse = List { start: 0, len: 0 };
                        let kind = StmtKind::If { test, body, orelse };
                        result.push(self.shared.tree.push_stmt(Stmt { kind, ..next }));
                    }
                    return (result, true);
                }
                _ => result.push(*id),
            }
        }
        (result, false)
    }

    /// An expression that stands for no source.
    fn synthetic(&mut self, kind: ExprKind) -> ExprId {
        self.shared.tree.push_expr(Expr {
            kind,
            line: 0,
            start: 0,
            end: 0,
        })
    }
}

/// The number of values in a range, as Python counts them.
fn range_len(start: i64, stop: i64, step: i64) -> u64 {
    let (start, stop, step) = (i128::from(start), i128::from(stop), i128::from(step));
    let count = if step > 0 {
        (stop - start + step - 1).div_euclid(step)
    } else {
        (start - stop - step - 1).div_euclid(-step)
    };
    count.clamp(0, i128::from(u64::MAX)) as u64
}
