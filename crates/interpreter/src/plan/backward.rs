//! Lays out the adjoints of operations, last first.

use super::array_call::{slot_update, update_of};
use super::builder::{Builder, LaidOut, Planned};
use super::frame::{Frame, Pass};
use super::named::{Named, gradient_of};
use crate::factorisation::Factorisation;
use crate::instruction::{Binary, Instruction, Location, Update};
use crate::lanes::Cell;
use crate::tile::Tile;
use warpsmith_ir::builtin::BUILTINS;
use warpsmith_ir::types::{Scalar, Type, TypeId};
use warpsmith_ir::{Call, Callee, Comparison, Function, LoopKind, Op, VarId};

impl<'m> Builder<'m> {
    /// Lays out the adjoints of the operations `from..to`.
    pub(super) fn walk_back(
        &mut self,
        frame: &mut Frame<'m>,
        from: usize,
        to: usize,
    ) -> Planned<()> {
        let function = frame.function;
        let mut branches = Vec::new();
        let mut at = to;
        while at > from {
            at -= 1;
            self.forget_temporaries();
            match function.ops[at] {
                Op::Line(line) => self.line = line,
                Op::Call(call) => {
                    if call.has_adjoint {
                        self.adjoint(frame, &call)?;
                    }
                }
                Op::EndIf {
                    cond,
                    negated,
                    begin,
                } => {
                    let cond = self.condition(frame, cond)?;
                    branches.push(self.code.len());
                    // Lanes that returned inside the branch wait for a label in it.
                    let body = &function.ops[begin as usize..at];
                    let skips = !body.iter().any(|op| matches!(op, Op::Return { .. }));
                    self.emit(Instruction::If {
                        cond,
                        negated,
                        end: 0,
                        skips,
                    });
                }
                Op::If { .. } => self.close_branch(branches.pop()),
                Op::EndLoop { index, begin } => {
                    self.loop_back(frame, index, begin as usize, at)?;
                    at = begin as usize;
                }
                Op::Return {
                    values,
                    count,
                    label,
                } => {
                    let label = self.label(frame, label);
                    self.emit(Instruction::Label { label });
                    let values = &function.pool[values as usize..][..count as usize];
                    let duals = frame.result_duals.clone();
                    for (n, (value, result)) in values.iter().zip(duals).enumerate() {
                        if self.take_back_tile(frame, n, *value) {
                            continue;
                        }
                        self.add_dual(frame, *value, result);
                    }
                }
                Op::FieldAddress {
                    dst,
                    aggregate,
                    field,
                    accumulates,
                    ..
                } => {
                    self.field_adjoint(frame, dst, aggregate, field, accumulates);
                }
                Op::FieldStore {
                    root,
                    path,
                    value,
                    accumulates,
                } => {
                    let (start, ty) = self.field_path(frame, root, path)?;
                    let Some(dual) = frame.dual(root) else {
                        continue;
                    };
                    if accumulates {
                        self.add_dual(frame, value, Some(dual.at(start)));
                    }
                    for (n, leaf) in self.layout(ty).leaves.iter().enumerate() {
                        let zero = self.bits(leaf.scalar, 0);
                        self.copy(leaf.scalar, dual.at(start + n), zero);
                    }
                }
                Op::SlotStore { slot, value } => {
                    let mut own = false;
                    let at = self.slot(frame, &function.slots[slot as usize], &mut own)?;
                    self.gradient_of(frame, at, value, false, true, own);
                }
                Op::SlotAtomic {
                    slot,
                    value,
                    update,
                } => {
                    let mut own = false;
                    let at = self.slot(frame, &function.slots[slot as usize], &mut own)?;
                    let op = slot_update(update);
                    if matches!(op, Binary::Add | Binary::Sub) {
                        self.gradient_of(frame, at, value, op == Binary::Sub, false, own);
                    }
                }
                Op::Text { text, .. } => {
                    self.text_adjoint(frame, &function.texts[text as usize])?;
                }
                Op::Load { .. }
                | Op::Set { .. }
                | Op::Accumulate { .. }
                | Op::SetInt { .. }
                | Op::Literal { .. }
                | Op::Compare { .. }
                | Op::Loop { .. }
                | Op::Test { .. }
                | Op::Break { .. }
                | Op::Continue { .. }
                | Op::ReturnDefault
                | Op::SlotAddress { .. }
                | Op::Assert { .. } => {}
            }
            self.check_length()?;
        }
        Ok(())
    }

    /// The dual of `var` receives what lies at `source`.
    fn add_dual(&mut self, frame: &Frame<'m>, var: VarId, source: Option<Cell>) {
        let (Some(dual), Some(source)) = (frame.dual(var), source) else {
            return;
        };
        let ty = frame.value_type(self, var);
        for (n, leaf) in self.layout(ty).leaves.iter().enumerate() {
            if leaf.scalar.is_float() {
                let dst = dual.at(n);
                let (op, ty) = (Binary::Add, leaf.scalar);
                self.emit(Instruction::Binary {
                    op,
                    ty,
                    dst,
                    a: dst,
                    b: source.at(n),
                });
            }
        }
    }

    fn gradient_of(
        &mut self,
        frame: &Frame<'m>,
        at: Location,
        value: VarId,
        negative: bool,
        zeroes: bool,
        own: bool,
    ) {
        let Some(dual) = frame.dual(value) else {
            return;
        };
        let leaves = self.scalars(frame, value);
        self.take_gradient(at, &leaves, dual, negative, zeroes, own);
    }

    fn scalars(&mut self, frame: &Frame<'m>, var: VarId) -> Vec<Scalar> {
        let ty = frame.value_type(self, var);
        self.layout(ty)
            .leaves
            .iter()
            .map(|leaf| leaf.scalar)
            .collect()
    }

    fn field_adjoint(
        &mut self,
        frame: &Frame<'m>,
        dst: VarId,
        aggregate: VarId,
        field: warpsmith_ir::names::Name,
        accumulates: bool,
    ) {
        let ty = frame.value_type(self, aggregate);
        let start = crate::layout::Layout::field(self.module, ty, field);
        let (Some(dual), Some(source), Some((start, field_ty))) =
            (frame.dual(aggregate), frame.dual(dst), start)
        else {
            return;
        };
        for (n, leaf) in self.layout(field_ty).leaves.iter().enumerate() {
            let (ty, to, from) = (leaf.scalar, dual.at(start + n), source.at(n));
            if accumulates && ty.is_float() {
                self.emit(Instruction::Binary {
                    op: Binary::Add,
                    ty,
                    dst: to,
                    a: to,
                    b: from,
                });
            } else if !accumulates {
                self.copy(ty, to, from);
            }
        }
    }

    fn loop_back(
        &mut self,
        frame: &mut Frame<'m>,
        index: u32,
        begin: usize,
        end: usize,
    ) -> Planned<()> {
        let function = frame.function;
        let this = &function.loops[index as usize];
        let mut body = begin + 1;
        let head;
        let mut tests = Vec::new();
        match this.kind {
            LoopKind::While => {
                self.emit(Instruction::Loop);
                frame.loops.push(index);
                head = self.code.len() as u32;
                while !matches!(function.ops[body], Op::Test { index: i, .. } if i == index) {
                    body += 1;
                }
                self.walk(frame, begin + 1, body, Pass::Forward)?;
                if let Op::Test { cond, .. } = function.ops[body] {
                    let cond = self.condition(frame, cond)?;
                    tests.push(self.code.len());
                    self.emit(Instruction::LoopTest { cond, exit: 0 });
                }
                body += 1;
            }
            LoopKind::Range { iter, .. } => {
                // Of a search the order does not matter: Warp goes through it forwards again.
                if !matches!(frame.kind(self, iter), Type::Query(_)) {
                    self.emit(Instruction::ReverseRange {
                        range: frame.cell(iter),
                    });
                }
                self.emit(Instruction::Loop);
                frame.loops.push(index);
                head = self.code.len() as u32;
                tests = self.loop_head(frame, index);
            }
            LoopKind::Counted {
                counter,
                value,
                range,
            } => {
                let last = self.integer(range.last());
                self.copy(Scalar::I32, frame.cell(counter), last);
                self.emit(Instruction::Loop);
                frame.loops.push(index);
                head = self.code.len() as u32;
                let op = if range.step > 0 {
                    Comparison::GreaterEqual
                } else {
                    Comparison::LessEqual
                };
                tests.push(self.counted_test(frame.cell(counter), op, range.start));
                self.copy(Scalar::I32, frame.cell(value), frame.cell(counter));
                let back = self.integer(-range.step);
                self.step(frame.cell(counter), back);
            }
        }
        for var in &this.zeroed {
            self.zero_tile_gradient(frame, *var);
            let Some(dual) = frame.dual(*var) else {
                continue;
            };
            for (n, ty) in self.scalars(frame, *var).into_iter().enumerate() {
                let zero = self.bits(ty, 0);
                self.copy(ty, dual.at(n), zero);
            }
        }
        self.walk(frame, body, end, Pass::Replay)?;
        self.walk_back(frame, body, end)?;
        self.close_loop(frame, head, &tests);
        Ok(())
    }

    /// The adjoint of a call.
    fn adjoint(&mut self, frame: &mut Frame<'m>, call: &Call) -> Planned<()> {
        let index = match call.callee {
            Callee::Builtin(index, _) => index,
            Callee::Function(index) => return self.inline_adjoint(frame, call, index),
            Callee::Struct(_) => {
                let function = frame.function;
                let [out] = *call.operands.outs(&function.pool) else {
                    return Ok(());
                };
                let mut start = 0;
                let args = call.operands.args(&function.pool);
                for (arg, adjoint) in args.iter().zip(call.operands.adjoints(&function.pool)) {
                    self.add_dual(frame, *adjoint, frame.dual(out).map(|dual| dual.at(start)));
                    start += self.operand(frame, *arg).len;
                }
                return Ok(());
            }
        };
        let name = BUILTINS[usize::from(index)].name;
        if self.question_adjoint(frame, call, name)?
            || self.volume_index_adjoint(frame, call, name)?
            || self.memory_adjoint(frame, call, name)?
            || self.inplace_adjoint(frame, call, name)?
            || self.tile_choice(frame, call, name, true)?
        {
            return Ok(());
        }
        match name {
            "assign" => {
                let [target, value] = *call.operands.adjoints(&frame.function.pool) else {
                    return Ok(());
                };
                if matches!(frame.kind(self, target), Type::Tile(_)) {
                    return self.assign_tile_adjoint(frame, target, value);
                }
                let Some(dual) = frame.dual(target) else {
                    return Ok(());
                };
                self.add_dual(frame, value, Some(dual));
                for (n, ty) in self.scalars(frame, target).into_iter().enumerate() {
                    let zero = self.bits(ty, 0);
                    self.copy(ty, dual.at(n), zero);
                }
                Ok(())
            }
            "print" | "printf" | "expect_near" | "store" | "view" | "index" | "zeros" | "cast"
            | "lower_bound" | "sample_cdf" | "poisson" | "dense_chol" | "dense_subs" => Ok(()),
            "dense_gemm" | "dense_solve" => self.dense_adjoint(frame, call, name),
            "noise" | "pnoise" | "curlnoise" => {
                self.noise_adjoint(frame, call, name);
                Ok(())
            }
            _ => match Factorisation::of(name) {
                Some(kind) => {
                    self.factor_adjoint(frame, call, kind, name);
                    Ok(())
                }
                None => self.derive(frame, call, name),
            },
        }
    }

    /// The adjoint of a builtin that touches memory; false if it is none.
    fn memory_adjoint(&mut self, frame: &Frame<'m>, call: &Call, name: &str) -> LaidOut {
        let function = frame.function;
        let args = call.operands.args(&function.pool);
        let adjoints = call.operands.adjoints(&function.pool);
        let mut own = false;
        if name == "address" {
            let ([array, indices @ ..], [out]) = (args, call.operands.outs(&function.pool)) else {
                return Ok(true);
            };
            if let Some(dual) = frame.dual(*out) {
                let at = self.element(frame, *array, indices, &mut own)?;
                let leaves = self.scalars(frame, *out);
                self.add_gradient(at, &leaves, dual, own);
            }
            return Ok(true);
        }
        let update = update_of(name);
        if name != "array_store" && update.is_none() {
            return Ok(name == "atomic_cas");
        }
        let ([array, indices @ .., value], Some(target)) = (args, adjoints.last()) else {
            return Ok(true);
        };
        let Some(dual) = frame.dual(*target) else {
            return Ok(true);
        };
        let at = self.element(frame, *array, indices, &mut own)?;
        match update {
            None => self.gradient_of(frame, at, *target, false, true, own),
            Some(Update::Binary(Binary::Add)) => {
                self.gradient_of(frame, at, *target, false, false, own);
            }
            Some(Update::Binary(Binary::Sub)) => {
                self.gradient_of(frame, at, *target, true, false, own);
            }
            Some(Update::Binary(Binary::Min | Binary::Max)) => {
                self.chosen_gradient(frame, at, *value, dual, own);
            }
            Some(_) => {}
        }
        Ok(true)
    }

    /// The gradient of an extreme goes to every value that equals it.
    fn chosen_gradient(
        &mut self,
        frame: &Frame<'m>,
        at: Location,
        value: VarId,
        dual: Cell,
        own: bool,
    ) {
        let gradient_space = Location {
            space: crate::instruction::Space::Gradient,
            ..at
        };
        self.note_read(at, own);
        self.note_read(gradient_space, own);
        for (n, ty) in self.scalars(frame, value).into_iter().enumerate() {
            let (stored, gradient) = (self.temporary(), self.temporary());
            let column = at.column + n as u32;
            self.emit(Instruction::Load {
                ty,
                dst: stored,
                from: Location { column, ..at },
            });
            let from = Location {
                column,
                ..gradient_space
            };
            self.emit(Instruction::Load {
                ty,
                dst: gradient,
                from,
            });
            let equal = self.compare(Comparison::Equal, ty, stored, frame.cell(value).at(n));
            let zero = self.bits(ty, 0);
            let share = self.select(ty, equal, gradient, zero);
            let dst = dual.at(n);
            self.emit(Instruction::Binary {
                op: Binary::Add,
                ty,
                dst,
                a: dst,
                b: share,
            });
        }
    }

    /// Lays out the adjoint that a function's author wrote: its parameters are the function's, and the
    /// gradients of the results.
    fn inline_gradient(
        &mut self,
        frame: &Frame<'m>,
        call: &Call,
        gradient: &'m Function,
    ) -> Planned<()> {
        let args = call.operands.args(&frame.function.pool);
        let mut callee = self.frame_of(frame, gradient, args, false)?;
        let adjoints = call.operands.adjoints(&frame.function.pool);
        for ((param, variable), adjoint) in gradient.parameters().zip(adjoints) {
            let leaves = self.layout(variable.ty).leaves.len();
            let dual = match frame.dual(*adjoint) {
                Some(dual) => dual,
                None => {
                    let first = self.cells_for(leaves);
                    let count = leaves as u32;
                    self.emit(Instruction::Zero { first, count });
                    first
                }
            };
            callee.set_dual(param, dual);
        }
        let outs = call.operands.outs(&frame.function.pool);
        for ((param, variable), out) in gradient.parameters().skip(args.len()).zip(outs) {
            let layout = self.layout(variable.ty);
            let (first, count) = (callee.cell(param), layout.leaves.len() as u32);
            match frame.dual(*out) {
                Some(dual) => {
                    for (n, leaf) in layout.leaves.iter().enumerate() {
                        self.copy(leaf.scalar, first.at(n), dual.at(n));
                    }
                }
                None => self.emit(Instruction::Zero { first, count }),
            }
        }
        for (n, alias) in gradient.aliases.iter().enumerate() {
            let Some(Named::Gradient(var)) = Named::of(self.module, alias) else {
                continue;
            };
            let name = VarId::of_alias(n);
            if self.module.types.array_parts(alias.variable.ty).is_some() {
                callee.aliases.insert(name, callee.cell(var));
                if let Some(param) = callee.arrays.get(&var).copied() {
                    callee.arrays.insert(name, param);
                }
            } else if let Some(dual) = callee.dual(var) {
                callee.aliases.insert(name, dual);
            }
        }
        self.lay_out(callee)
    }

    fn inline_adjoint(&mut self, frame: &Frame<'m>, call: &Call, index: u32) -> Planned<()> {
        let function = &self.module.functions[index as usize];
        if let Some(gradient) = gradient_of(self.module, function) {
            return self.inline_gradient(frame, call, gradient);
        }
        let mut callee = self.callee_frame(frame, call, index, true)?;
        let adjoints = call.operands.adjoints(&frame.function.pool);
        for ((param, _), adjoint) in callee.function.parameters().zip(adjoints) {
            if let Some(dual) = frame.dual(*adjoint) {
                callee.set_dual(param, dual);
            }
        }
        let outs = call.operands.outs(&frame.function.pool);
        callee.result_duals = outs.iter().map(|out| frame.dual(*out)).collect();
        callee.result_tiles = self.result_tiles(frame, outs);
        let returns = callee.function.returns.iter().zip(&callee.result_tiles);
        let is_view = |(ty, tile): (&TypeId, &Option<Tile>)| {
            self.module.types.tile_of(*ty).is_some() && tile.is_none()
        };
        if { returns }.any(is_view) {
            return self.unknown("a function that returns a view of a tile");
        }
        self.lay_out_adjoint(callee)
    }

    /// Lays out the operations of a function once more and then backward, among the caller's.
    pub(super) fn lay_out_adjoint(&mut self, mut callee: Frame<'m>) -> Planned<()> {
        let line = self.line;
        self.depth += 1;
        self.emit(Instruction::Enter);
        callee.zero(self);
        self.take_tiles(&callee)?;
        let end = callee.function.ops.len();
        self.walk(&mut callee, 0, end, Pass::Replay)?;
        self.walk_back(&mut callee, 0, end)?;
        self.emit(Instruction::Leave);
        self.depth -= 1;
        self.line = line;
        Ok(())
    }
}
