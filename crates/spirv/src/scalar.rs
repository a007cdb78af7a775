//! Operations on cells: what each reads and writes. What is computed is said in [`super::whole_number`],
//! [`super::floating`], [`super::comparison`] and [`super::conversion`].

use super::emitter::{Emitted, Emitter, kind};
use super::opcode::Op;
use super::writer::{Id, Kind};
use warpsmith_interpreter::scalar_form::{Binary, Cell, Instruction, Unary};
use warpsmith_ir::types::Scalar;

/// More cells are not chosen among by an index.
const MOST_CHOICES: u32 = 256;

impl Emitter<'_> {
    /// Writes an operation on cells; false if it is none.
    pub(super) fn scalar(&mut self, instruction: &Instruction) -> Emitted<bool> {
        match *instruction {
            Instruction::Binary { op, ty, dst, a, b } => {
                let a = self.get(a, ty);
                let b = match op {
                    Binary::Div | Binary::FloorDiv if ty.is_float() => self.divisor(b, ty),
                    _ => self.get(b, ty),
                };
                let value = self.binary(op, ty, a, b)?;
                self.put(dst, ty, value);
            }
            Instruction::Unary {
                op: Unary::BitCount,
                ty,
                dst,
                a,
            } => {
                let a = self.get(a, ty);
                let count = self.bit_count(ty, a);
                self.write(dst, Kind::U32, count);
            }
            Instruction::Unary { op, ty, dst, a } => {
                let a = self.get(a, ty);
                let value = self.unary(op, ty, a)?;
                self.put(dst, ty, value);
            }
            Instruction::MulAdd { ty, dst, a, b, c } => {
                let numbers = [a, b, c].map(|cell| self.get(cell, ty));
                let value = self.fused(kind(ty), numbers);
                self.put(dst, ty, value);
            }
            Instruction::Classify { class, ty, dst, a } => {
                let a = self.get(a, ty);
                let truth = self.classify(class, kind(ty), a);
                let value = self.number(truth);
                self.write(dst, Kind::U32, value);
            }
            Instruction::Compare { op, ty, dst, a, b } => {
                let (a, b) = (self.get(a, ty), self.get(b, ty));
                let truth = self.compare(op, ty, a, b);
                let value = self.number(truth);
                self.write(dst, Kind::U32, value);
            }
            Instruction::Select {
                ty,
                dst,
                cond,
                a,
                b,
            } => {
                let truth = self.truth(cond);
                let (a, b) = (self.get(a, ty), self.get(b, ty));
                let value = self.select(kind(ty), truth, a, b);
                self.put(dst, ty, value);
            }
            Instruction::Move { ty, dst, src } => {
                let value = self.get(src, ty);
                self.put(dst, ty, value);
            }
            Instruction::Cast { from, to, dst, src } => {
                let value = self.get(src, from);
                let value = self.cast(from, to, value);
                self.put(dst, to, value);
            }
            Instruction::Zero { first, count } => self.zero(first, count),
            Instruction::Tid { dst, axis, rank } => {
                let value = self.coordinate(usize::from(axis), usize::from(rank));
                self.write(dst, Kind::U32, value);
            }
            Instruction::Gather {
                ty,
                dst,
                first,
                len,
                index,
            } => self.gather(ty, dst, first, len, index)?,
            Instruction::Scatter {
                ty,
                first,
                len,
                index,
                src,
            } => self.scatter(ty, first, len, index, src)?,
            Instruction::ReverseRange { range } => self.reverse_range(range),
            Instruction::RangeTest { dst, range } => {
                let [next, end, step] = [0, 1, 2].map(|n| self.read(range.at(n), Kind::U32));
                let zero = self.w.u32(0);
                let up = self.w.value(Op::SGreaterThan, Kind::Bool, &[step, zero]);
                let below = self.w.value(Op::SLessThan, Kind::Bool, &[next, end]);
                let above = self.w.value(Op::SGreaterThan, Kind::Bool, &[next, end]);
                let more = self.select(Kind::Bool, up, below, above);
                let value = self.number(more);
                self.write(dst, Kind::U32, value);
            }
            Instruction::Mark { variable } => self.mark(variable),
            Instruction::CheckMarked { variable } => self.check_mark(variable),
            Instruction::MarkChosen {
                variable,
                cond,
                from,
            } => {
                let chosen = self.truth(cond);
                let [first, second] = from.map(|mark| match mark {
                    Some(mark) => {
                        let mark = self.marks[mark as usize];
                        self.w.value(Op::Load, Kind::U32, &[mark])
                    }
                    None => self.w.u32(1),
                });
                let value = self.select(Kind::U32, chosen, first, second);
                let operands = [self.marks[variable as usize], value];
                self.w.act(Op::Store, &operands);
            }
            Instruction::Expect { cond, stops, .. } => self.expect(cond, stops),
            Instruction::Reinterpret { entry, dst, src } => self.reinterpret(entry, dst, src),
            Instruction::Factor {
                kind,
                ty,
                dst,
                src,
                backward,
            } => self.factor(kind, ty, (dst, src), backward),
            Instruction::Noise {
                noise,
                dst,
                src,
                backward,
            } => self.noise(noise, dst, src, backward),
            Instruction::Poisson { dst, state, rate } => self.poisson(dst, state, rate),
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(super) fn binary(&mut self, op: Binary, ty: Scalar, a: Id, b: Id) -> Emitted<Id> {
        if !ty.is_float() {
            return self.integer_binary(op, ty, a, b);
        }
        let value = self.float_binary(op, ty, a, b)?;
        Ok(match op {
            Binary::Min | Binary::Max | Binary::CopySign => value,
            _ => self.rounded(ty, value),
        })
    }

    fn coordinate(&mut self, axis: usize, rank: usize) -> Id {
        if rank == 1 {
            return self.thread;
        }
        let one = self.w.u32(1);
        let size = |emitter: &mut Self, axis: usize| {
            let size = emitter.dim(axis);
            let zero = emitter.w.u32(0);
            let none = emitter.w.value(Op::IEqual, Kind::Bool, &[size, zero]);
            emitter.select(Kind::U32, none, one, size)
        };
        let mut inner = one;
        for axis in axis + 1..rank {
            let size = size(self, axis);
            inner = self.w.value(Op::IMul, Kind::U32, &[inner, size]);
        }
        let outer = self.w.value(Op::UDiv, Kind::U32, &[self.thread, inner]);
        if axis == 0 {
            return outer;
        }
        let size = size(self, axis);
        self.w.value(Op::UMod, Kind::U32, &[outer, size])
    }

    /// `min(index, len - 1)`, as the interpreter takes an index that was checked before.
    fn choice(&mut self, index: Cell, len: u32) -> Emitted<Id> {
        if len > MOST_CHOICES {
            return self.refuse(format!("an index into a value of {len} components"));
        }
        let index = self.read(index, Kind::U32);
        let last = self.w.u32(len.saturating_sub(1));
        let over = self.w.value(Op::UGreaterThan, Kind::Bool, &[index, last]);
        Ok(self.select(Kind::U32, over, last, index))
    }

    fn gather(&mut self, ty: Scalar, dst: Cell, first: Cell, len: u32, index: Cell) -> Emitted {
        let index = self.choice(index, len)?;
        let mut value = self.get(first, ty);
        for n in 1..len {
            let number = self.w.u32(n);
            let here = self.w.value(Op::IEqual, Kind::Bool, &[index, number]);
            let other = self.get(first.at(n as usize), ty);
            value = self.select(kind(ty), here, other, value);
        }
        self.put(dst, ty, value);
        Ok(())
    }

    fn scatter(&mut self, ty: Scalar, first: Cell, len: u32, index: Cell, src: Cell) -> Emitted {
        let index = self.choice(index, len)?;
        let value = self.get(src, ty);
        for n in 0..len {
            let number = self.w.u32(n);
            let here = self.w.value(Op::IEqual, Kind::Bool, &[index, number]);
            let cell = first.at(n as usize);
            let old = self.get(cell, ty);
            let new = self.select(kind(ty), here, value, old);
            self.put(cell, ty, new);
        }
        Ok(())
    }

    /// In 32 bits, which is enough.
    fn reverse_range(&mut self, range: Cell) {
        const W: Kind = Kind::U32;
        let [next, end, step] = [0, 1, 2].map(|n| self.read(range.at(n), W));
        let (zero, one) = (self.w.u32(0), self.w.u32(1));
        let up = self.w.value(Op::SGreaterThan, Kind::Bool, &[step, zero]);
        let below = self.w.value(Op::SLessThan, Kind::Bool, &[next, end]);
        let above = self.w.value(Op::SGreaterThan, Kind::Bool, &[next, end]);
        let some = self.select(Kind::Bool, up, below, above);
        let forward = self.w.value(Op::ISub, W, &[end, next]);
        let backward = self.w.value(Op::ISub, W, &[next, end]);
        let span = self.select(W, up, forward, backward);
        let down = self.w.value(Op::SNegate, W, &[step]);
        let size = self.select(W, up, step, down);
        let still = self.w.value(Op::IEqual, Kind::Bool, &[step, zero]);
        let divisor = self.select(W, still, one, size);
        // How many steps there are behind the first number; of no number, one back.
        let steps = self.w.value(Op::ISub, W, &[span, one]);
        let steps = self.w.value(Op::UDiv, W, &[steps, divisor]);
        let minus = self.w.u32(u32::MAX);
        let steps = self.select(W, some, steps, minus);
        let way = self.w.value(Op::IMul, W, &[steps, step]);
        let first = self.w.value(Op::IAdd, W, &[next, way]);
        let stop = self.w.value(Op::ISub, W, &[next, step]);
        for (n, value) in [first, stop, down].into_iter().enumerate() {
            self.write(range.at(n), W, value);
        }
    }
}
