//! Which variables may be read before they have a value.
//!
//! A branch or loop may not run, so what it assigns is in doubt afterwards. `where` joins the values of two
//! branches and `assign` carries one on: neither is a use, so that their results are in doubt where the
//! value is that they come from.

use std::collections::BTreeSet;
use std::ops::Range;

use super::builder::Builder;
use super::call::result_arguments;
use super::frame::Frame;
use super::statement::variables;
use crate::instruction::Instruction;
use warpsmith_ir::builtin::BUILTINS;
use warpsmith_ir::names::Names;
use warpsmith_ir::types::Scalar;
use warpsmith_ir::{Call, Callee, Function, LoopKind, Op, VarId};

/// Which of a call's operands hold the condition and the values of a `where` or `select`.
fn choice(call: &Call) -> Option<bool> {
    let Callee::Builtin(index, _) = call.callee else {
        return None;
    };
    match BUILTINS[usize::from(index)].name {
        "where" => Some(true),
        "select" => Some(false),
        _ => None,
    }
}

/// The variables that an operation uses; to join or to carry on a value is no use.
fn reads(names: &Names, function: &Function, op: &Op, mut visit: impl FnMut(VarId)) {
    match *op {
        Op::Call(call) => {
            let args = call.operands.args(&function.pool);
            let args = if choice(&call).is_some() {
                &args[..1]
            } else {
                args
            };
            let results = match is_assign(&call) {
                true => 0..args.len(),
                false => written(&call, args.len()).unwrap_or(args.len()..args.len()),
            };
            let inputs = args[..results.start].iter().chain(&args[results.end..]);
            inputs.for_each(|var| visit(*var));
        }
        Op::Load { src, .. } | Op::Set { src, .. } => visit(src),
        Op::Accumulate { dst, src, .. } => {
            visit(dst);
            visit(src);
        }
        Op::Compare { chain, .. } => {
            let vars = chain.operands(function);
            vars.iter().for_each(|var| visit(*var));
        }
        Op::If { cond, .. } | Op::Test { cond, .. } | Op::Assert { cond, .. } => visit(cond),
        Op::Return { values, count, .. } => {
            let vars = &function.pool[values as usize..][..count as usize];
            vars.iter().for_each(|var| visit(*var));
        }
        Op::FieldAddress { aggregate, .. } => visit(aggregate),
        Op::FieldStore { value, .. } => visit(value),
        Op::Text { text, .. } => variables(names, function, text)
            .0
            .into_iter()
            .for_each(visit),
        Op::SlotAddress { slot, .. } | Op::SlotStore { slot, .. } | Op::SlotAtomic { slot, .. } => {
            let slot = &function.slots[slot as usize];
            visit(slot.array);
            slot.indices.iter().for_each(|var| visit(*var));
            if let Op::SlotStore { value, .. } | Op::SlotAtomic { value, .. } = *op {
                visit(value);
            }
        }
        _ => {}
    }
}

fn is_assign(call: &Call) -> bool {
    matches!(call.callee, Callee::Builtin(index, _) if BUILTINS[usize::from(index)].name == "assign")
}

/// The arguments that a builtin writes its results to, if it does.
fn written(call: &Call, given: usize) -> Option<Range<usize>> {
    let Callee::Builtin(index, _) = call.callee else {
        return None;
    };
    result_arguments(BUILTINS[usize::from(index)].name, given)
}

/// What a `where`, a `select` or an `assign` gives its value to, and the two that it may come from: the first
/// where the condition holds, which `assign` has not.
fn join(function: &Function, op: &Op) -> Option<(VarId, Option<VarId>, [VarId; 2])> {
    let Op::Call(call) = op else { return None };
    let args = call.operands.args(&function.pool);
    match (choice(call), args, call.operands.outs(&function.pool)) {
        (Some(true), &[cond, a, b], &[out]) => Some((out, Some(cond), [a, b])),
        (Some(false), &[cond, a, b], &[out]) => Some((out, Some(cond), [b, a])),
        (None, &[target, value], _) if is_assign(call) => Some((target, None, [value, value])),
        _ => None,
    }
}

/// The variables that an operation gives a value.
fn writes(names: &Names, function: &Function, op: &Op, mut visit: impl FnMut(VarId)) {
    match *op {
        Op::Call(call) => {
            call.operands
                .outs(&function.pool)
                .iter()
                .for_each(|var| visit(*var));
            let args = call.operands.args(&function.pool);
            if is_assign(&call) {
                visit(args[0]);
            }
            if let Some(results) = written(&call, args.len()) {
                args[results].iter().for_each(|var| visit(*var));
            }
        }
        Op::Load { dst, .. }
        | Op::Set { dst, .. }
        | Op::SetInt { dst, .. }
        | Op::Literal { dst, .. }
        | Op::Compare { dst, .. }
        | Op::FieldAddress { dst, .. }
        | Op::SlotAddress { dst, .. } => visit(dst),
        Op::Loop { index, .. } => match function.loops[index as usize].kind {
            LoopKind::Range { value, .. } | LoopKind::Counted { value, .. } => visit(value),
            LoopKind::While => {}
        },
        Op::Text { text, .. } => variables(names, function, text)
            .1
            .into_iter()
            .for_each(visit),
        _ => {}
    }
}

/// The variables for which a check is needed.
pub(super) fn unassigned(names: &Names, function: &Function) -> BTreeSet<VarId> {
    let mut assigned: Vec<bool> = function
        .vars
        .iter()
        .enumerate()
        .map(|(n, variable)| n < function.params as usize || variable.constant.is_some())
        .collect();
    let mut before = Vec::new();
    let mut doubtful = BTreeSet::new();
    for op in &function.ops {
        let mut read = |var: VarId| {
            // An address or a gradient by name is no variable.
            if assigned.get(var.index()) == Some(&false) {
                doubtful.insert(var);
            }
        };
        reads(names, function, op, &mut read);
        let joined = join(function, op);
        if let Some((_, _, from)) = joined {
            from.into_iter().for_each(&mut read);
        }
        match op {
            Op::If { .. } | Op::Loop { .. } => before.push(assigned.clone()),
            Op::EndIf { .. } | Op::EndLoop { .. } => {
                assigned = before.pop().unwrap_or(assigned);
            }
            _ => {}
        }
        writes(names, function, op, |var| {
            if let Some(assigned) = assigned.get_mut(var.index()) {
                *assigned = true;
            }
        });
        if let Some((out, _, from)) = joined {
            assigned[out.index()] = from.iter().all(|var| assigned[var.index()]);
        }
    }
    doubtful
}

impl<'m> Builder<'m> {
    /// Checks what the operation is about to read.
    pub(super) fn check_reads(&mut self, frame: &Frame<'m>, op: &Op) {
        let mut checks = Vec::new();
        reads(&self.module.names, frame.function, op, |var| {
            if let Some(mark) = frame.marks.get(&var) {
                checks.push(Instruction::CheckMarked { variable: *mark });
            }
        });
        // What is carried on to a variable that nothing watches must be there.
        if let Some((target, None, [value, _])) = join(frame.function, op)
            && !frame.marks.contains_key(&target)
            && let Some(mark) = frame.marks.get(&value)
        {
            checks.push(Instruction::CheckMarked { variable: *mark });
        }
        for check in checks {
            self.emit(check);
        }
    }

    /// Notes what the operation has given a value.
    pub(super) fn mark_writes(&mut self, frame: &Frame<'m>, op: &Op) {
        if let Some((out, cond, from)) = join(frame.function, op) {
            let Some(variable) = frame.marks.get(&out).copied() else {
                return;
            };
            let from = from.map(|var| frame.marks.get(&var).copied());
            let cond = match cond.map(|cond| self.condition(frame, cond)) {
                Some(Ok(cond)) => cond,
                _ => self.bits(Scalar::Bool, 1),
            };
            self.emit(Instruction::MarkChosen {
                variable,
                cond,
                from,
            });
            return;
        }
        let mut marks = Vec::new();
        writes(&self.module.names, frame.function, op, |var| {
            marks.extend(
                frame
                    .marks
                    .get(&var)
                    .map(|mark| Instruction::Mark { variable: *mark }),
            );
        });
        for mark in marks {
            self.emit(mark);
        }
    }
}
