//! Lays operations out in order: the forward pass and its replay.

use super::builder::{Builder, Planned};
use super::frame::{Frame, Pass, constant_bits};
use super::reference::Reference;
use crate::instruction::{Binary, Instruction, Update};
use crate::lanes::Cell;
use warpsmith_ir::types::{Scalar, Type};
use warpsmith_ir::{Chain, Comparison, LoopKind, Op, VarId};

impl<'m> Builder<'m> {
    /// Lays out the operations `from..to`.
    pub(super) fn walk(
        &mut self,
        frame: &mut Frame<'m>,
        from: usize,
        to: usize,
        pass: Pass,
    ) -> Planned<()> {
        let mut at = from;
        let mut branches: Vec<usize> = Vec::new();
        let mut heads: Vec<(u32, Vec<usize>)> = Vec::new();
        let function = frame.function;
        while at < to {
            self.forget_temporaries();
            let op = &function.ops[at];
            if !frame.marks.is_empty() {
                self.check_reads(frame, op);
            }
            match *op {
                Op::Line(line) => self.line = line,
                Op::Call(call) => {
                    if pass == Pass::Forward {
                        self.call(frame, &call)?;
                    } else if op.is_replayed() {
                        self.repeat(frame, &call)?;
                    }
                }
                Op::Load { dst, src } => match frame.references.get(&src).copied() {
                    Some(array @ Reference::OfMesh(..)) => {
                        frame.references.insert(dst, array);
                    }
                    _ => self.load(frame, dst, src)?,
                },
                Op::Set { dst, src } => {
                    let truth = self.condition(frame, src)?;
                    self.copy(Scalar::Bool, frame.cell(dst), truth);
                }
                Op::Accumulate { dst, src, or } => {
                    let truth = self.condition(frame, src)?;
                    let op = if or { Binary::Or } else { Binary::And };
                    let dst = frame.cell(dst);
                    self.emit(Instruction::Binary {
                        op,
                        ty: Scalar::Bool,
                        dst,
                        a: dst,
                        b: truth,
                    });
                }
                Op::SetInt { dst, value } => {
                    let value = self.integer(value);
                    self.copy(Scalar::I32, frame.cell(dst), value);
                }
                Op::Literal { dst, literal } => {
                    let constant = function.literals[literal as usize];
                    let ty = function.var(dst).ty;
                    for (n, (ty, bits)) in constant_bits(self, ty, constant).into_iter().enumerate()
                    {
                        let value = self.bits(ty, bits);
                        self.copy(ty, frame.cell(dst).at(n), value);
                    }
                }
                Op::Compare { dst, chain } => {
                    self.comparison(frame, dst, chain)?;
                }
                Op::If { cond, negated, .. } => {
                    let cond = self.condition(frame, cond)?;
                    branches.push(self.code.len());
                    self.emit(Instruction::If {
                        cond,
                        negated,
                        end: 0,
                        skips: true,
                    });
                }
                Op::EndIf { .. } => self.close_branch(branches.pop()),
                Op::Loop { index, end } => {
                    if pass == Pass::Replay {
                        at = end as usize + 1;
                        continue;
                    }
                    self.emit(Instruction::Loop);
                    frame.loops.push(index);
                    let head = self.code.len() as u32;
                    let tests = self.loop_head(frame, index);
                    heads.push((head, tests));
                }
                Op::Test { cond, .. } => {
                    let cond = self.condition(frame, cond)?;
                    if let Some((_, tests)) = heads.last_mut() {
                        tests.push(self.code.len());
                    }
                    self.emit(Instruction::LoopTest { cond, exit: 0 });
                }
                Op::EndLoop { .. } => {
                    let (head, tests) = heads.pop().unwrap_or_default();
                    self.close_loop(frame, head, &tests);
                }
                Op::Break { index } => {
                    let depth = self.loop_depth(frame, index)?;
                    self.emit(Instruction::Break { depth });
                }
                Op::Continue { index } => {
                    let depth = self.loop_depth(frame, index)?;
                    self.emit(Instruction::Continue { depth });
                }
                Op::Return {
                    values,
                    count,
                    label,
                } => {
                    self.give_back(frame, values, count, label, pass);
                }
                Op::ReturnDefault => {
                    if pass == Pass::Forward {
                        self.give_back_zero(frame);
                    }
                }
                Op::FieldAddress {
                    dst,
                    aggregate,
                    field,
                    ..
                } => {
                    let reference = self.field_reference(frame, aggregate, field)?;
                    frame.references.insert(dst, reference);
                }
                Op::FieldStore {
                    root, path, value, ..
                } => {
                    if matches!(
                        frame.references.get(&root),
                        Some(Reference::Memory(_) | Reference::Part { .. })
                    ) {
                        return self.unknown("a field behind this reference");
                    }
                    let (first, _) = self.field_path(frame, root, path)?;
                    let ty = frame.value_type(self, value);
                    for (n, leaf) in self.layout(ty).leaves.iter().enumerate() {
                        let src = frame.cell(value).at(n);
                        self.copy(leaf.scalar, frame.cell(root).at(first + n), src);
                    }
                }
                Op::SlotAddress { dst, slot } => {
                    let slot = &function.slots[slot as usize];
                    let at = self.slot(frame, slot, &mut false)?;
                    self.note_read(at, false);
                    frame.references.insert(dst, Reference::Memory(at));
                }
                Op::SlotStore { slot, value } => {
                    if pass == Pass::Forward {
                        let mut own = false;
                        let at = self.slot(frame, &function.slots[slot as usize], &mut own)?;
                        self.store_value(frame, at, value, own)?;
                    }
                }
                Op::SlotAtomic {
                    slot,
                    value,
                    update,
                } => {
                    if pass == Pass::Forward {
                        let mut own = false;
                        let at = self.slot(frame, &function.slots[slot as usize], &mut own)?;
                        let op = super::array_call::slot_update(update);
                        self.atomic_value(frame, at, Update::Binary(op), value, None, own)?;
                    }
                }
                Op::Text { text, replayed } => {
                    if pass == Pass::Forward || replayed {
                        self.text(frame, &function.texts[text as usize])?;
                    }
                }
                Op::Assert { cond, text } => {
                    let cond = self.condition(frame, cond)?;
                    let message = format!(
                        "the assertion `{}` does not hold",
                        self.module.names.get(text)
                    );
                    self.expect(cond, message, true);
                }
            }
            if !frame.marks.is_empty() {
                self.mark_writes(frame, op);
            }
            self.check_length()?;
            at += 1;
        }
        Ok(())
    }

    /// Closes the branch that was opened at `opened`.
    pub(super) fn close_branch(&mut self, opened: Option<usize>) {
        let close = self.code.len() as u32;
        if let Some(Instruction::If { end, .. }) = opened.and_then(|at| self.code.get_mut(at)) {
            *end = close;
        }
        self.emit(Instruction::EndIf);
    }

    /// A truth value from a condition of any type that has one.
    pub(super) fn condition(&mut self, frame: &Frame<'m>, var: VarId) -> Planned<Cell> {
        match frame.kind(self, var) {
            Type::Scalar(scalar) => Ok(self.truth(scalar, frame.cell(var))),
            Type::Array { .. } | Type::MappedArray { .. } => {
                // An array that was not given has no buffer.
                let array = self.array_cells(frame, var)?;
                let zero = self.integer(0);
                Ok(self.compare(Comparison::GreaterEqual, Scalar::I32, array, zero))
            }
            _ => self.unknown("a condition of this type"),
        }
    }

    fn comparison(&mut self, frame: &Frame<'m>, dst: VarId, chain: Chain) -> Planned<()> {
        let function = frame.function;
        let (vars, symbols) = (chain.operands(function), chain.comparisons(function));
        let mut all: Option<Cell> = None;
        for (pair, op) in vars.windows(2).zip(symbols) {
            let truth = self.compare_values(frame, pair[0], pair[1], *op)?;
            all = Some(match all {
                Some(before) => self.binary(Binary::And, Scalar::Bool, before, truth),
                None => truth,
            });
        }
        if let Some(all) = all {
            self.copy(Scalar::Bool, frame.cell(dst), all);
        }
        Ok(())
    }

    /// Compares two values: scalars by any operator, others for equality of all their leaves.
    pub(super) fn compare_values(
        &mut self,
        frame: &Frame<'m>,
        a: VarId,
        b: VarId,
        op: Comparison,
    ) -> Planned<Cell> {
        let (ty, other) = (frame.value_type(self, a), frame.value_type(self, b));
        let layout = self.layout(ty);
        let (a, b) = (frame.cell(a), frame.cell(b));
        if let [leaf] = *layout.leaves {
            let theirs = self.module.types.scalar_of(other).unwrap_or(leaf.scalar);
            let common = common_scalar(leaf.scalar, theirs);
            let a = self.cast(leaf.scalar, common, a);
            let b = self.cast(theirs, common, b);
            return Ok(self.compare(op, common, a, b));
        }
        if !matches!(op, Comparison::Equal | Comparison::NotEqual) || layout.holds_array {
            return self.unknown("a comparison of values of this type");
        }
        let mut all = self.bits(Scalar::Bool, 1);
        for (n, leaf) in layout.leaves.iter().enumerate() {
            let equal = self.compare(Comparison::Equal, leaf.scalar, a.at(n), b.at(n));
            all = self.binary(Binary::And, Scalar::Bool, all, equal);
        }
        if op == Comparison::NotEqual {
            let zero = self.bits(Scalar::Bool, 0);
            all = self.compare(Comparison::Equal, Scalar::Bool, all, zero);
        }
        Ok(all)
    }

    /// The test and step of a `for` loop; gives the positions of tests, whose exits are not known yet.
    pub(super) fn loop_head(&mut self, frame: &Frame<'m>, index: u32) -> Vec<usize> {
        match frame.function.loops[index as usize].kind {
            LoopKind::While => Vec::new(),
            LoopKind::Range { iter, value } if matches!(frame.kind(self, iter), Type::Query(_)) => {
                let cond = self.next_of_query(frame, iter);
                let test = self.code.len();
                self.emit(Instruction::LoopTest { cond, exit: 0 });
                let found = self.found(frame, iter);
                self.copy(Scalar::I32, frame.cell(value), found);
                vec![test]
            }
            LoopKind::Range { iter, value } => {
                let range = frame.cell(iter);
                let cond = self.temporary();
                self.emit(Instruction::RangeTest { dst: cond, range });
                let test = self.code.len();
                self.emit(Instruction::LoopTest { cond, exit: 0 });
                self.copy(Scalar::I32, frame.cell(value), range);
                self.step(range, range.at(2));
                vec![test]
            }
            LoopKind::Counted {
                counter,
                value,
                range,
            } => {
                let op = if range.step > 0 {
                    Comparison::Less
                } else {
                    Comparison::Greater
                };
                let test = self.counted_test(frame.cell(counter), op, range.stop);
                self.copy(Scalar::I32, frame.cell(value), frame.cell(counter));
                let step = self.integer(range.step);
                self.step(frame.cell(counter), step);
                vec![test]
            }
        }
    }

    pub(super) fn counted_test(&mut self, counter: Cell, op: Comparison, bound: i64) -> usize {
        let bound = self.integer(bound);
        let cond = self.compare(op, Scalar::I32, counter, bound);
        self.emit(Instruction::LoopTest { cond, exit: 0 });
        self.code.len() - 1
    }

    pub(super) fn step(&mut self, counter: Cell, by: Cell) {
        self.add_to(Scalar::I32, counter, by);
    }

    /// `cell += value`.
    pub(super) fn add_to(&mut self, ty: Scalar, cell: Cell, value: Cell) {
        self.emit(Instruction::Binary {
            op: Binary::Add,
            ty,
            dst: cell,
            a: cell,
            b: value,
        });
    }

    /// The end of a loop's body: back to the head, or out.
    pub(super) fn close_loop(&mut self, frame: &mut Frame<'m>, head: u32, tests: &[usize]) {
        self.emit(Instruction::LoopNext { head });
        let end = self.code.len() as u32;
        for test in tests {
            if let Some(Instruction::LoopTest { exit, .. }) = self.code.get_mut(*test) {
                *exit = end;
            }
        }
        self.emit(Instruction::LoopExit);
        frame.loops.pop();
    }

    pub(super) fn loop_depth(&self, frame: &Frame<'m>, index: u32) -> Planned<u32> {
        match frame.loops.iter().rev().position(|open| *open == index) {
            Some(depth) => Ok(depth as u32),
            None => self.unknown("a jump out of a loop that is not open"),
        }
    }

    fn give_back(
        &mut self,
        frame: &mut Frame<'m>,
        values: u32,
        count: u32,
        label: u32,
        pass: Pass,
    ) {
        if pass == Pass::Replay {
            let label = self.label(frame, label);
            self.emit(Instruction::ReturnTo { label });
            return;
        }
        let function = frame.function;
        let values = &function.pool[values as usize..][..count as usize];
        for (n, (value, result)) in values.iter().zip(frame.results.clone()).enumerate() {
            if self.give_back_tile(frame, n, *value) {
                continue;
            }
            let ty = frame.value_type(self, *value);
            for (n, leaf) in self.layout(ty).leaves.iter().enumerate() {
                self.copy(leaf.scalar, result.at(n), frame.cell(*value).at(n));
            }
        }
        self.emit(Instruction::Return);
    }

    fn give_back_zero(&mut self, frame: &Frame<'m>) {
        for (ty, result) in frame.function.returns.iter().zip(&frame.results) {
            for (n, leaf) in self.layout(*ty).leaves.iter().enumerate() {
                let zero = self.bits(leaf.scalar, 0);
                self.copy(leaf.scalar, result.at(n), zero);
            }
        }
    }

    /// The program's number for a label of the function.
    pub(super) fn label(&mut self, frame: &mut Frame<'m>, label: u32) -> u32 {
        let labels = &mut self.labels;
        *frame.labels.entry(label).or_insert_with(|| {
            *labels += 1;
            *labels - 1
        })
    }
}

/// The type in which C++ compares two scalars: the larger float, or the integers after promotion.
fn common_scalar(a: Scalar, b: Scalar) -> Scalar {
    let rank = |scalar: Scalar| match scalar {
        Scalar::F64 => 6,
        Scalar::F32 => 5,
        Scalar::F16 | Scalar::BF16 => 4,
        Scalar::U64 => 3,
        Scalar::I64 => 2,
        Scalar::U32 => 1,
        _ => 0,
    };
    match (a, b) {
        _ if a == b => a,
        _ if rank(a).max(rank(b)) == 0 => Scalar::I32,
        _ if rank(a) >= rank(b) => a,
        _ => b,
    }
}
