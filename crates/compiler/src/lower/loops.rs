//! Loops that run at run time: over a range, over constants too many to unroll, and `while`.

use super::body::{Body, OpenLoop};
use super::unroll::Plan;
use super::value::{Binding, Res, fail, hinted, placed};
use crate::syntax::{ExprId, ExprKind, List, StmtKind};
use warpsmith_ir::types::{Type, TypeId};
use warpsmith_ir::{CountedRange, Loop, LoopKind, Op, VarId};

impl Body<'_, '_> {
    pub(super) fn for_statement(&mut self, target: ExprId, iter: ExprId, body: List) -> Res<()> {
        let plan = self.plan_loop(iter, body)?;
        let ExprKind::Name(name) = self.shared.tree.expr(target).kind else {
            return fail("K005", "a loop binds one name");
        };
        let kind = match plan {
            Plan::Unroll { start, step, count } => {
                return self.unroll(name, start, step, count, body);
            }
            Plan::Counted { start, stop, step } => {
                let counter = self.add_var(TypeId::I32);
                self.promote_unrolled(body)?;
                self.ops.push(Op::SetInt {
                    dst: counter,
                    value: start,
                });
                LoopKind::Counted {
                    counter,
                    value: counter,
                    range: CountedRange { start, stop, step },
                }
            }
            Plan::Iterate(iter) => {
                self.promote_unrolled(body)?;
                LoopKind::Range { iter, value: iter }
            }
            Plan::Evaluate => {
                let iter = self.eval_var(iter)?;
                let kind = self.shared.types.get(self.ty(iter));
                let iterated = matches!(kind, Type::Query(query) if query.is_iterated());
                if kind != Type::Range && !iterated {
                    return fail(
                        "K005",
                        "a loop runs over a `range`, or over the neighbours in a hash grid",
                    );
                }
                self.promote_unrolled(body)?;
                LoopKind::Range { iter, value: iter }
            }
        };
        let index = self.begin_loop(kind);
        // The loop variable belongs to the loop, not to its body.
        let value = self.add_var(TypeId::I32);
        match &mut self.loops[index as usize].kind {
            LoopKind::Range { value: slot, .. } | LoopKind::Counted { value: slot, .. } => {
                *slot = value;
            }
            LoopKind::While => {}
        }
        self.blocks.push(Vec::new());
        self.labels += 1;
        self.symbols.set(name, Binding::Var(value));
        let entry = self.symbols.clone();
        self.open_loops.push(OpenLoop { index, entry, body });
        self.statements(body)?;
        self.carry()?;
        self.open_loops.pop();
        let inner = self.end_loop(index);
        // An enclosing loop zeroes the duals of this one's variables too.
        if let Some(outer) = self.blocks.last_mut() {
            outer.extend(inner);
        }
        Ok(())
    }

    pub(super) fn while_statement(&mut self, test: ExprId, body: List) -> Res<()> {
        self.promote_unrolled(body)?;
        let index = self.begin_loop(LoopKind::While);
        let cond = self.eval_var(test)?;
        self.check_condition(cond)?;
        let cond = self.load(cond);
        self.ops.push(Op::Test { index, cond });
        self.blocks.push(Vec::new());
        self.labels += 1;
        let entry = self.symbols.clone();
        self.open_loops.push(OpenLoop { index, entry, body });
        self.statements(body)?;
        self.carry()?;
        self.open_loops.pop();
        self.end_loop(index);
        Ok(())
    }

    fn begin_loop(&mut self, kind: LoopKind) -> u32 {
        let index = self.loops.len() as u32;
        self.loops.push(Loop {
            kind,
            label: self.labels,
            zeroed: Vec::new(),
        });
        self.labels += 1;
        self.blocks.push(Vec::new());
        self.ops.push(Op::Loop { index, end: 0 });
        index
    }

    /// Closes a loop; gives the variables of its head and body.
    fn end_loop(&mut self, index: u32) -> Vec<VarId> {
        let body = self.blocks.pop().unwrap_or_default();
        let mut all = self.blocks.pop().unwrap_or_default();
        let here = self.ops.len() as u32;
        let begin = self
            .ops
            .iter()
            .rposition(|op| matches!(op, Op::Loop { index: i, .. } if *i == index));
        let begin = begin.unwrap_or(0) as u32;
        if let Op::Loop { end, .. } = &mut self.ops[begin as usize] {
            *end = here;
        }
        self.ops.push(Op::EndLoop { index, begin });
        all.extend_from_slice(&body);
        self.loops[index as usize].zeroed = body;
        all
    }

    /// Carries what the body bound again into the next iteration.
    fn carry(&mut self) -> Res<()> {
        let Some(open) = self.open_loops.last() else {
            return fail("K005", "there is no loop here");
        };
        let entry = open.entry.clone();
        let body = open.body;
        for (name, old) in entry.entries() {
            let Some(new) = self.symbols.get(*name) else {
                continue;
            };
            if new == *old {
                continue;
            }
            let (Binding::Var(old), Binding::Var(new)) = (*old, new) else {
                return fail("K016", "a name is bound to a function in a loop");
            };
            if self.constant(old).is_some() {
                if self.unrolled.contains(name) {
                    continue;
                }
                let text = self.shared.names.get(*name);
                let mut problem = hinted(
                    "K010",
                    format!("`{text}` is a constant and changes in a loop"),
                    format!(
                        "declare it as a variable before the loop: `{text} = {}(…)`",
                        match self.ty(old) {
                            TypeId::F32 => "float".to_owned(),
                            TypeId::I32 => "int".to_owned(),
                            TypeId::BOOL => "bool".to_owned(),
                            _ => format!("wp.{}", self.describe(old)),
                        }
                    ),
                );
                // The first place where the loop binds the name.
                let mut stored = Vec::new();
                self.stored_names(body, &mut stored);
                let places = stored.iter().filter(|(stored, _)| stored == name);
                let places = places.map(|(_, expr)| self.shared.tree.expr(*expr));
                if let Some(place) = places.min_by_key(|place| place.start) {
                    problem = placed(problem, place.start, place.end);
                }
                return Err(problem);
            }
            let assign = self.shared.operators.assign;
            self.call_builtin_vars(assign, &[old, new])?;
            self.symbols.set(*name, Binding::Var(old));
        }
        Ok(())
    }

    pub(super) fn leave_loop(&mut self, breaks: bool) -> Res<()> {
        let Some(index) = self.open_loops.last().map(|open| open.index) else {
            return fail("K005", "`break` and `continue` need a loop around them");
        };
        self.carry()?;
        self.ops.push(if breaks {
            Op::Break { index }
        } else {
            Op::Continue { index }
        });
        Ok(())
    }

    /// Leftover variables of unrolled loops are constants; those that the coming loop binds again become
    /// variables first.
    fn promote_unrolled(&mut self, body: List) -> Res<()> {
        if self.unrolled.is_empty() {
            return Ok(());
        }
        let mut stored = Vec::new();
        self.stored_names(body, &mut stored);
        let mut promoted = Vec::new();
        for (name, _) in stored {
            if let Some(Binding::Var(var)) = self.symbols.get(name)
                && self.unrolled.contains(&name)
                && self.constant(var).is_some()
                && !promoted.contains(&name)
            {
                promoted.push(name);
            }
        }
        if promoted.len() > 1 {
            return fail("K024", "two leftover loop variables change in this loop");
        }
        for name in promoted {
            if let Some(Binding::Var(var)) = self.symbols.get(name) {
                let copy = self.copy(var)?;
                self.symbols.set(name, Binding::Var(copy));
            }
        }
        Ok(())
    }

    /// Every name that a suite binds, with the place.
    fn stored_names(&self, body: List, found: &mut Vec<(warpsmith_ir::names::Name, ExprId)>) {
        let tree = &self.shared.tree;
        let mut target = |expr: ExprId| match tree.expr(expr).kind {
            ExprKind::Name(name) => found.push((name, expr)),
            ExprKind::Tuple(list) => {
                for item in tree.exprs_in(list) {
                    if let ExprKind::Name(name) = tree.expr(*item).kind {
                        found.push((name, *item));
                    }
                }
            }
            _ => {}
        };
        let mut pending = tree.stmts_in(body).to_vec();
        while let Some(id) = pending.pop() {
            match tree.stmt(id).kind {
                StmtKind::Assign { targets, .. } => {
                    for expr in tree.exprs_in(targets) {
                        target(*expr);
                    }
                }
                StmtKind::AugAssign { target: expr, .. } => target(expr),
                StmtKind::If { body, orelse, .. } => {
                    pending.extend_from_slice(tree.stmts_in(body));
                    pending.extend_from_slice(tree.stmts_in(orelse));
                }
                StmtKind::For {
                    target: expr, body, ..
                } => {
                    target(expr);
                    pending.extend_from_slice(tree.stmts_in(body));
                }
                StmtKind::While { body, .. } => pending.extend_from_slice(tree.stmts_in(body)),
                _ => {}
            }
        }
    }
}
