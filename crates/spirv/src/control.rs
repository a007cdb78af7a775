//! Branches, loops and returns.
//!
//! The interpreter's masks become one word per thread, `gone`: zero while the thread runs, else the number
//! of what it waits for (the end of a loop, its next iteration, the end of a function, a label). Code that a
//! waiting thread could reach is guarded by `gone == 0`; where nothing can wait, there is no guard.

use super::emitter::{Emitted, Emitter};
use super::opcode::Op;
use super::writer::{Id, Kind};
use std::collections::BTreeSet;
use warpsmith_interpreter::scalar_form::Instruction;

/// Iterations that a thread may make in loops whose end is not certain; then it has a fault.
const MOST_ITERATIONS: u32 = 1 << 27;

/// What is open, innermost last.
pub(super) struct Open {
    scope: Scope,
    /// What the thread could wait for outside.
    outer: BTreeSet<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Branch {
        merge: Id,
    },
    /// A branch that keeps waiting threads out.
    Guard {
        merge: Id,
    },
    Loop {
        head: Id,
        next: Id,
        merge: Id,
        number: u32,
        /// Whether its end is not certain.
        counted: bool,
        /// Where it is noted that the loop was left by itself.
        left_by_itself: Option<Id>,
    },
    Function {
        number: u32,
    },
}

fn left(number: u32) -> u32 {
    4 * number + 1
}

fn continued(number: u32) -> u32 {
    4 * number + 2
}

fn returned(number: u32) -> u32 {
    4 * number + 3
}

fn waits_for(label: u32) -> u32 {
    4 * label + 4
}

impl Emitter<'_> {
    /// Writes an instruction of control; false if it is none.
    pub(super) fn control(&mut self, instruction: &Instruction) -> Emitted<bool> {
        match *instruction {
            Instruction::If {
                cond, negated, end, ..
            } => {
                let labels = self.labels_before(end as usize);
                if labels.is_empty() {
                    self.ensure_active();
                } else {
                    // Threads that wait for a label inside go in, whatever the condition.
                    self.close_guards();
                }
                let truth = self.truth(cond);
                let mut chosen = truth;
                if negated {
                    chosen = self.w.value(Op::LogicalNot, Kind::Bool, &[truth]);
                }
                if !labels.is_empty() {
                    let runs = self.waits(0);
                    chosen = self.w.value(Op::LogicalAnd, Kind::Bool, &[chosen, runs]);
                    for label in &labels {
                        let waits = self.waits(waits_for(*label));
                        chosen = self.w.value(Op::LogicalOr, Kind::Bool, &[chosen, waits]);
                    }
                }
                self.open_branch(chosen);
                self.pending = labels.into_iter().map(waits_for).collect();
            }
            Instruction::EndIf => {
                self.close_guards();
                self.close_branch();
            }
            Instruction::Loop => self.open_loop()?,
            Instruction::LoopTest { cond, .. } => {
                self.close_guards();
                let Some((
                    Scope::Loop {
                        merge,
                        left_by_itself,
                        ..
                    },
                    _,
                )) = self.innermost()
                else {
                    return self.refuse("a loop whose test lies in a branch");
                };
                let truth = self.truth(cond);
                let mut go = truth;
                if !self.pending.is_empty() {
                    let runs = self.waits(0);
                    let waits = self.w.value(Op::LogicalNot, Kind::Bool, &[runs]);
                    go = self.w.value(Op::LogicalOr, Kind::Bool, &[truth, waits]);
                }
                self.note_exit(left_by_itself, go);
                let body = self.w.id();
                self.w.act(Op::BranchConditional, &[go, body, merge]);
                self.w.label(body);
            }
            Instruction::LoopNext { .. } => self.end_iteration()?,
            Instruction::LoopExit => {
                let Some(Open {
                    scope:
                        Scope::Loop {
                            merge,
                            number,
                            left_by_itself,
                            ..
                        },
                    outer,
                }) = self.opened.pop()
                else {
                    return self.refuse("a loop that ends elsewhere");
                };
                self.w.label(merge);
                self.forget();
                self.check_exit(left_by_itself);
                for code in [left(number), continued(number)] {
                    self.arrive(code);
                }
                self.pending.extend(outer);
            }
            Instruction::Break { depth } => {
                let number = self.loop_number(depth)?;
                self.leave(left(number));
            }
            Instruction::Continue { depth } => {
                let number = self.loop_number(depth)?;
                self.leave(continued(number));
            }
            Instruction::Enter => {
                self.ensure_active();
                self.functions += 1;
                let number = self.functions;
                self.opened.push(Open {
                    scope: Scope::Function { number },
                    outer: std::mem::take(&mut self.pending),
                });
            }
            Instruction::Leave => {
                self.close_guards();
                let Some(Open {
                    scope: Scope::Function { number },
                    outer,
                }) = self.opened.pop()
                else {
                    return self.refuse("a function that ends elsewhere");
                };
                self.arrive(returned(number));
                self.pending.extend(outer);
            }
            Instruction::Return => {
                let number = self.opened.iter().rev().find_map(|open| match open.scope {
                    Scope::Function { number } => Some(number),
                    _ => None,
                });
                self.leave(returned(number.unwrap_or(0)));
            }
            Instruction::ReturnTo { label } => self.leave(waits_for(label)),
            Instruction::Label { label } => {
                self.close_guards();
                self.arrive(waits_for(label));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(super) fn is_outside_of_loops(&self) -> bool {
        let is_loop = |open: &Open| matches!(open.scope, Scope::Loop { .. });
        !self.opened.iter().any(is_loop)
    }

    fn innermost(&self) -> Option<(Scope, usize)> {
        let at = self.opened.len().checked_sub(1)?;
        Some((self.opened[at].scope, at))
    }

    /// The labels between here and `end`.
    fn labels_before(&self, end: usize) -> Vec<u32> {
        // Only adjoints have labels.
        if self.program.labels == 0 {
            return Vec::new();
        }
        let code = &self.code[self.at..end.max(self.at)];
        let labels = code.iter().filter_map(|instruction| match instruction {
            Some(Instruction::Label { label }) => Some(*label),
            _ => None,
        });
        labels.collect()
    }

    fn open_loop(&mut self) -> Emitted {
        let code = self.code;
        let mut depth = 0;
        let end = (self.at..code.len()).find(|at| {
            match code[*at] {
                Some(Instruction::Loop) => depth += 1,
                Some(Instruction::LoopExit) => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        let end = end.unwrap_or(code.len());
        for label in self.labels_before(end) {
            let outside = code[..self.at].iter().any(
                |other| matches!(other, Some(Instruction::ReturnTo { label: to }) if *to == label),
            );
            if outside {
                return self.refuse("the adjoint of a return inside a loop");
            }
        }
        // A range ends by itself; of another loop that is not known.
        let first = code[self.at + 1..].iter().flatten().next();
        let counted = !matches!(first, Some(Instruction::RangeTest { .. }));
        self.ensure_active();
        let left_by_itself = self.unknown.is_some().then(|| self.w.variable(Kind::U32));
        let (head, next, merge, body) = (self.w.id(), self.w.id(), self.w.id(), self.w.id());
        self.w.act(Op::Branch, &[head]);
        self.w.label(head);
        self.w.act(Op::LoopMerge, &[merge, next, 0]);
        self.w.act(Op::Branch, &[body]);
        self.w.label(body);
        self.forget();
        self.loops += 1;
        let number = self.loops;
        self.opened.push(Open {
            scope: Scope::Loop {
                head,
                next,
                merge,
                number,
                counted,
                left_by_itself,
            },
            outer: std::mem::take(&mut self.pending),
        });
        Ok(())
    }

    fn end_iteration(&mut self) -> Emitted {
        self.close_guards();
        let Some((
            Scope::Loop {
                head,
                next,
                merge,
                number,
                counted,
                left_by_itself,
            },
            _,
        )) = self.innermost()
        else {
            return self.refuse("a loop that goes on elsewhere");
        };
        self.arrive(continued(number));
        let mut go = (!self.pending.is_empty()).then(|| self.waits(0));
        if counted || left_by_itself.is_some() {
            let count = self.count_iteration();
            let most = self.w.u32(MOST_ITERATIONS);
            let over = self.w.value(Op::UGreaterThan, Kind::Bool, &[count, most]);
            self.fault(over);
            let ends = self.w.value(Op::LogicalNot, Kind::Bool, &[over]);
            go = Some(match go {
                Some(go) => self.w.value(Op::LogicalAnd, Kind::Bool, &[go, ends]),
                None => ends,
            });
        }
        if let Some(go) = go {
            self.note_exit(left_by_itself, go);
        }
        match go {
            Some(go) => self.w.act(Op::BranchConditional, &[go, next, merge]),
            None => self.w.act(Op::Branch, &[next]),
        }
        self.w.label(next);
        self.w.act(Op::Branch, &[head]);
        Ok(())
    }

    fn count_iteration(&mut self) -> Id {
        let count = self.w.value(Op::Load, Kind::U32, &[self.iterations]);
        let one = self.w.u32(1);
        let count = self.w.value(Op::IAdd, Kind::U32, &[count, one]);
        let operands = [self.iterations, count];
        self.w.act(Op::Store, &operands);
        count
    }

    /// Notes that a loop is left by itself unless it goes on: a number that changes with each iteration.
    pub(super) fn note_exit(&mut self, variable: Option<Id>, go: Id) {
        let (Some(variable), Some([zero, one, _])) = (variable, self.unknown) else {
            return;
        };
        let count = self.w.value(Op::Load, Kind::U32, &[self.iterations]);
        let step = self.select(Kind::U32, go, zero, one);
        let noted = self.w.value(Op::IAdd, Kind::U32, &[count, step]);
        self.w.act(Op::Store, &[variable, noted]);
    }

    /// A fault where a loop was left that had not ended.
    pub(super) fn check_exit(&mut self, variable: Option<Id>) {
        let (Some(variable), Some([_, _, one])) = (variable, self.unknown) else {
            return;
        };
        let count = self.w.value(Op::Load, Kind::U32, &[self.iterations]);
        let expected = self.w.value(Op::IAdd, Kind::U32, &[count, one]);
        let noted = self.w.value(Op::Load, Kind::U32, &[variable]);
        let cut = self.w.value(Op::INotEqual, Kind::Bool, &[noted, expected]);
        self.fault_by_cut(cut);
    }

    /// A loop in which no cell is read or written: `test` says whether there is a further iteration.
    pub(super) fn repeat(
        &mut self,
        test: impl FnOnce(&mut Self) -> Id,
        body: impl FnOnce(&mut Self),
    ) {
        let left_by_itself = self.unknown.is_some().then(|| self.w.variable(Kind::U32));
        let [head, asks, inside, next, merge] = [0; 5].map(|_| self.w.id());
        self.w.act(Op::Branch, &[head]);
        self.w.label(head);
        self.w.act(Op::LoopMerge, &[merge, next, 0]);
        self.w.act(Op::Branch, &[asks]);
        self.w.label(asks);
        let more = test(self);
        self.note_exit(left_by_itself, more);
        self.w.act(Op::BranchConditional, &[more, inside, merge]);
        self.w.label(inside);
        body(self);
        if left_by_itself.is_some() {
            // Else a compiler knows what the loop noted when it was left.
            self.count_iteration();
        }
        self.w.act(Op::Branch, &[next]);
        self.w.label(next);
        self.w.act(Op::Branch, &[head]);
        self.w.label(merge);
        self.check_exit(left_by_itself);
    }

    /// The body as often as `count`, a word, says.
    pub(super) fn repeat_times(&mut self, count: Id, body: impl FnOnce(&mut Self)) {
        let done = self.w.variable(Kind::U32);
        let (zero, one) = (self.w.u32(0), self.w.u32(1));
        self.w.act(Op::Store, &[done, zero]);
        self.repeat(
            |e| {
                let now = e.w.value(Op::Load, Kind::U32, &[done]);
                e.w.value(Op::ULessThan, Kind::Bool, &[now, count])
            },
            |e| {
                body(e);
                let now = e.w.value(Op::Load, Kind::U32, &[done]);
                let next = e.w.value(Op::IAdd, Kind::U32, &[now, one]);
                e.w.act(Op::Store, &[done, next]);
            },
        );
    }

    fn loop_number(&self, depth: u32) -> Emitted<u32> {
        let mut loops = self
            .opened
            .iter()
            .rev()
            .filter_map(|open| match open.scope {
                Scope::Loop { number, .. } => Some(number),
                _ => None,
            });
        match loops.nth(depth as usize) {
            Some(number) => Ok(number),
            None => self.refuse("a jump out of a loop that is not open"),
        }
    }

    /// The thread waits.
    fn leave(&mut self, code: u32) {
        self.ensure_active();
        let value = self.w.u32(code);
        let operands = [self.gone, value];
        self.w.act(Op::Store, &operands);
        self.pending.insert(code);
    }

    /// Threads that wait for this go on.
    fn arrive(&mut self, code: u32) {
        if !self.pending.remove(&code) {
            return;
        }
        let gone = self.w.value(Op::Load, Kind::U32, &[self.gone]);
        let (waited, zero) = (self.w.u32(code), self.w.u32(0));
        let here = self.w.value(Op::IEqual, Kind::Bool, &[gone, waited]);
        let now = self.select(Kind::U32, here, zero, gone);
        let operands = [self.gone, now];
        self.w.act(Op::Store, &operands);
    }

    /// Whether the thread waits for this; of 0, whether it runs.
    fn waits(&mut self, code: u32) -> Id {
        let gone = self.w.value(Op::Load, Kind::U32, &[self.gone]);
        let code = self.w.u32(code);
        self.w.value(Op::IEqual, Kind::Bool, &[gone, code])
    }

    /// Opens a guard where the thread might wait.
    pub(super) fn ensure_active(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let runs = self.waits(0);
        let merge = self.open_plain(runs);
        self.opened.push(Open {
            scope: Scope::Guard { merge },
            outer: std::mem::take(&mut self.pending),
        });
    }

    /// Closes the guards of the innermost construct.
    pub(super) fn close_guards(&mut self) {
        while let Some((Scope::Guard { merge }, at)) = self.innermost() {
            let open = self.opened.remove(at);
            self.close_plain(merge);
            self.forget();
            self.pending.extend(open.outer);
        }
    }

    pub(super) fn open_branch(&mut self, cond: Id) {
        let merge = self.open_plain(cond);
        self.opened.push(Open {
            scope: Scope::Branch { merge },
            outer: std::mem::take(&mut self.pending),
        });
    }

    pub(super) fn close_branch(&mut self) {
        if let Some(open) = self.opened.pop()
            && let Scope::Branch { merge } = open.scope
        {
            self.close_plain(merge);
            self.forget();
            self.pending.extend(open.outer);
        }
    }

    /// A branch in which no cell is written.
    pub(super) fn open_plain(&mut self, cond: Id) -> Id {
        let (body, merge) = (self.w.id(), self.w.id());
        self.w.act(Op::SelectionMerge, &[merge, 0]);
        self.w.act(Op::BranchConditional, &[cond, body, merge]);
        self.w.label(body);
        merge
    }

    pub(super) fn close_plain(&mut self, merge: Id) {
        self.w.act(Op::Branch, &[merge]);
        self.w.label(merge);
    }
}
