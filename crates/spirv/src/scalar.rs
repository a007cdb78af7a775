//! Operations on scalars, in the interpreter's bits: what its `arithmetic` does to one lane.
//!
//! Vulkan lets a quotient or root of `float32` be wrong in its last places, and asks more of none of the
//! others: quotients and roots are therefore made in `float64` and rounded once more, which gives the
//! nearest `float32` (53 bits are more than twice 24 and two).

use super::emitter::{Emitted, Emitter, kind};
use super::opcode::{Op, glsl};
use super::writer::{Id, Kind};
use warpsmith_interpreter::scalar_form::{Binary, Class, Instruction, Unary};
use warpsmith_interpreter::scalar_form::{Cell, is_wide};
use warpsmith_ir::Comparison;
use warpsmith_ir::types::Scalar;

/// More cells are not chosen among by an index.
const MOST_CHOICES: u32 = 256;

fn is_signed(ty: Scalar) -> bool {
    !matches!(ty, Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64)
}

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

    pub(super) fn constant_of(&mut self, k: Kind, value: f64) -> Id {
        match k {
            Kind::F32 => self.w.f32(value as f32),
            _ => self.w.f64(value),
        }
    }

    fn float_bits(k: Kind) -> (Kind, u64, u64) {
        match k {
            Kind::F32 => (Kind::U32, 0x7fff_ffff, 0x7f80_0000),
            _ => (Kind::U64, i64::MAX as u64, 0x7ff0_0000_0000_0000),
        }
    }

    /// A float without its sign, as bits.
    fn magnitude(&mut self, k: Kind, a: Id) -> Id {
        let (ints, mask, _) = Self::float_bits(k);
        let bits = self.bits(k, a);
        let mask = self.w.constant(ints, mask);
        self.w.value(Op::BitwiseAnd, ints, &[bits, mask])
    }

    pub(super) fn classify(&mut self, class: Class, k: Kind, a: Id) -> Id {
        let (ints, _, infinity) = Self::float_bits(k);
        let magnitude = self.magnitude(k, a);
        let infinity = self.w.constant(ints, infinity);
        let op = match class {
            Class::Nan => Op::UGreaterThan,
            Class::Inf => Op::IEqual,
            Class::Finite => Op::ULessThan,
        };
        self.w.value(op, Kind::Bool, &[magnitude, infinity])
    }

    pub(super) fn absolute(&mut self, k: Kind, a: Id) -> Id {
        let magnitude = self.magnitude(k, a);
        self.w.value(Op::Bitcast, k, &[magnitude])
    }

    pub(super) fn negated(&mut self, k: Kind, a: Id) -> Id {
        let (ints, mask, _) = Self::float_bits(k);
        let bits = self.bits(k, a);
        let sign = self.w.constant(ints, mask + 1);
        let bits = self.w.value(Op::BitwiseXor, ints, &[bits, sign]);
        self.w.value(Op::Bitcast, k, &[bits])
    }

    /// The magnitude of `a` with the sign of `b`.
    pub(super) fn copy_sign(&mut self, k: Kind, a: Id, b: Id) -> Id {
        let (ints, mask, _) = Self::float_bits(k);
        let magnitude = self.magnitude(k, a);
        let (bits, sign) = (self.bits(k, b), self.w.constant(ints, mask + 1));
        let sign = self.w.value(Op::BitwiseAnd, ints, &[bits, sign]);
        let bits = self.w.value(Op::BitwiseOr, ints, &[magnitude, sign]);
        self.w.value(Op::Bitcast, k, &[bits])
    }

    pub(super) fn binary(&mut self, op: Binary, ty: Scalar, a: Id, b: Id) -> Emitted<Id> {
        if ty.is_float() {
            let value = self.float_binary(op, ty, a, b)?;
            return Ok(match op {
                Binary::Min | Binary::Max | Binary::CopySign => value,
                _ => self.rounded(ty, value),
            });
        }
        let k = kind(ty);
        let value = match op {
            Binary::Add => self.w.value(Op::IAdd, k, &[a, b]),
            Binary::Sub => self.w.value(Op::ISub, k, &[a, b]),
            Binary::Mul => self.w.value(Op::IMul, k, &[a, b]),
            Binary::Div | Binary::FloorDiv | Binary::Mod => self.divided(op, ty, a, b),
            Binary::Min | Binary::Max => {
                let less = if is_signed(ty) {
                    Op::SLessThan
                } else {
                    Op::ULessThan
                };
                let less = self.w.value(less, Kind::Bool, &[a, b]);
                let (small, large) = if op == Binary::Min { (a, b) } else { (b, a) };
                return Ok(self.select(k, less, small, large));
            }
            Binary::And => return Ok(self.w.value(Op::BitwiseAnd, k, &[a, b])),
            Binary::Or => return Ok(self.w.value(Op::BitwiseOr, k, &[a, b])),
            Binary::Xor => return Ok(self.w.value(Op::BitwiseXor, k, &[a, b])),
            Binary::Shl | Binary::Shr => {
                let mask = self.w.constant(k, u64::from(8 * k.bytes() - 1));
                let by = self.w.value(Op::BitwiseAnd, k, &[b, mask]);
                let op = match op {
                    Binary::Shl => Op::ShiftLeftLogical,
                    _ if is_signed(ty) => Op::ShiftRightArithmetic,
                    _ => Op::ShiftRightLogical,
                };
                self.w.value(op, k, &[a, by])
            }
            Binary::Pow | Binary::Atan2 | Binary::CopySign => {
                return self.refuse("a power of integers");
            }
        };
        Ok(self.wrapped(ty, value))
    }

    /// Quotients and remainders of integers; a zero divisor is a fault, and `MIN / -1` wraps.
    fn divided(&mut self, op: Binary, ty: Scalar, a: Id, b: Id) -> Id {
        let k = kind(ty);
        let (zero, one) = (self.w.constant(k, 0), self.w.constant(k, 1));
        let by_zero = self.w.value(Op::IEqual, Kind::Bool, &[b, zero]);
        self.fault(by_zero);
        if !is_signed(ty) {
            let divisor = self.select(k, by_zero, one, b);
            let op = if op == Binary::Mod {
                Op::UMod
            } else {
                Op::UDiv
            };
            let value = self.w.value(op, k, &[a, divisor]);
            return self.select(k, by_zero, zero, value);
        }
        let minus = self.w.constant(
            k,
            if k == Kind::U64 {
                u64::MAX
            } else {
                u64::from(u32::MAX)
            },
        );
        let by_minus = self.w.value(Op::IEqual, Kind::Bool, &[b, minus]);
        let special = self
            .w
            .value(Op::LogicalOr, Kind::Bool, &[by_zero, by_minus]);
        let divisor = self.select(k, special, one, b);
        let rest = self.whole_remainder(k, a, divisor);
        if op == Binary::Mod {
            return rest;
        }
        let quotient = self.w.value(Op::SDiv, k, &[a, divisor]);
        let negative = self.w.value(Op::SNegate, k, &[a]);
        let quotient = self.select(k, by_minus, negative, quotient);
        let quotient = self.select(k, by_zero, zero, quotient);
        if op == Binary::Div {
            return quotient;
        }
        let inexact = self.w.value(Op::INotEqual, Kind::Bool, &[rest, zero]);
        let signs = self.w.value(Op::BitwiseXor, k, &[a, b]);
        let differ = self.w.value(Op::SLessThan, Kind::Bool, &[signs, zero]);
        let lower = self.w.value(Op::LogicalAnd, Kind::Bool, &[inexact, differ]);
        let below = self.w.value(Op::ISub, k, &[quotient, one]);
        self.select(k, lower, below, quotient)
    }

    /// What is left of a signed integer. Vulkan leaves `OpSRem` of a negative number undefined, and NVIDIA's
    /// driver makes use of that; quotients are defined.
    pub(super) fn whole_remainder(&mut self, k: Kind, a: Id, divisor: Id) -> Id {
        let quotient = self.w.value(Op::SDiv, k, &[a, divisor]);
        let whole = self.w.value(Op::IMul, k, &[quotient, divisor]);
        self.w.value(Op::ISub, k, &[a, whole])
    }

    /// A whole number in the width of its type.
    fn wrapped(&mut self, ty: Scalar, value: Id) -> Id {
        let and = |emitter: &mut Self, mask: u32| {
            let mask = emitter.w.u32(mask);
            (emitter.w).value(Op::BitwiseAnd, Kind::U32, &[value, mask])
        };
        match ty {
            Scalar::I8 => self.extended(value, 24),
            Scalar::I16 => self.extended(value, 16),
            Scalar::U8 => and(self, 0xff),
            Scalar::U16 => and(self, 0xffff),
            Scalar::Bool => {
                let zero = self.w.u32(0);
                let truth = self.w.value(Op::INotEqual, Kind::Bool, &[value, zero]);
                self.number(truth)
            }
            _ => value,
        }
    }

    /// The low bits of a word with their sign: those that a shift by `places` keeps.
    pub(super) fn extended(&mut self, value: Id, places: u32) -> Id {
        let places = self.w.u32(places);
        let high = self
            .w
            .value(Op::ShiftLeftLogical, Kind::U32, &[value, places]);
        self.w
            .value(Op::ShiftRightArithmetic, Kind::U32, &[high, places])
    }

    /// A divisor. A zero that the driver knows of would let it leave the quotient undefined.
    fn divisor(&mut self, cell: Cell, ty: Scalar) -> Id {
        let value = self.get(cell, ty);
        self.hidden_zero(kind(ty), value)
    }

    pub(super) fn quotient(&mut self, k: Kind, a: Id, b: Id) -> Id {
        let a = self.hidden_zero(k, a);
        if k == Kind::F64 || self.target.no_float64 {
            return self.w.value(Op::FDiv, k, &[a, b]);
        }
        let (a, b) = (self.widened(a), self.widened(b));
        let quotient = self.w.value(Op::FDiv, Kind::F64, &[a, b]);
        self.narrowed(quotient)
    }

    /// A number; zero as one that no compiler knows, because Mesa's takes 0 × x and 0 / x for 0, x + 0 for x
    /// and 0 − x for −x, whatever x is.
    fn hidden_zero(&mut self, k: Kind, number: Id) -> Id {
        let (whole, magnitude, _) = Self::float_bits(k);
        let Some(bits) = [0, magnitude + 1]
            .into_iter()
            .find(|bits| self.w.known_constant(k, *bits) == Some(number))
        else {
            return number;
        };
        let mut zero = self.unknown_zero();
        if whole == Kind::U32 {
            zero = self.w.value(Op::UConvert, whole, &[zero]);
        }
        let sign = self.w.constant(whole, bits);
        let hidden = self.w.value(Op::BitwiseOr, whole, &[zero, sign]);
        self.w.value(Op::Bitcast, k, &[hidden])
    }

    /// The smaller or larger float, as `minss` chooses it; a number rather than NaN.
    pub(super) fn extreme(&mut self, op: Binary, k: Kind, a: Id, b: Id) -> Id {
        let order = if op == Binary::Min {
            Op::FOrdLessThan
        } else {
            Op::FOrdGreaterThan
        };
        let better = self.w.value(order, Kind::Bool, &[b, a]);
        let none = self.classify(Class::Nan, k, a);
        let second = self.w.value(Op::LogicalOr, Kind::Bool, &[better, none]);
        self.select(k, second, b, a)
    }

    fn float_binary(&mut self, op: Binary, ty: Scalar, a: Id, b: Id) -> Emitted<Id> {
        let k = kind(ty);
        if self.target.no_float64 && k == Kind::F32 {
            match op {
                Binary::Mod => return Ok(self.w.value(Op::FRem, k, &[a, b])),
                Binary::Pow => return Ok(self.w.extended_pair(glsl::POW, k, a, b)),
                Binary::Atan2 => return Ok(self.w.extended_pair(glsl::ATAN2, k, a, b)),
                _ => {}
            }
        }
        Ok(match op {
            Binary::Add => {
                let (a, b) = (self.hidden_zero(k, a), self.hidden_zero(k, b));
                self.w.value(Op::FAdd, k, &[a, b])
            }
            Binary::Sub => {
                let a = self.hidden_zero(k, a);
                self.w.value(Op::FSub, k, &[a, b])
            }
            Binary::Mul => {
                let (a, b) = (self.hidden_zero(k, a), self.hidden_zero(k, b));
                self.w.value(Op::FMul, k, &[a, b])
            }
            Binary::Div => self.quotient(k, a, b),
            Binary::FloorDiv => {
                let quotient = self.quotient(k, a, b);
                self.w.extended(glsl::FLOOR, k, quotient)
            }
            Binary::Min | Binary::Max => self.extreme(op, k, a, b),
            Binary::CopySign => self.copy_sign(k, a, b),
            Binary::Mod if k == Kind::F32 => self.remainder(a, b),
            Binary::Mod => self.wide_remainder(a, b),
            Binary::Pow => self.in_double(k, &[a, b], |e, x| e.power(x[0], x[1])),
            Binary::Atan2 => self.in_double(k, &[a, b], |e, x| e.arc_tangent2(x[0], x[1])),
            Binary::And | Binary::Or | Binary::Xor | Binary::Shl | Binary::Shr => {
                return self.refuse("bits of floating-point numbers");
            }
        })
    }

    /// A function of doubles, of floats too.
    pub(super) fn in_double(
        &mut self,
        k: Kind,
        arguments: &[Id],
        function: impl FnOnce(&mut Self, &[Id]) -> Id,
    ) -> Id {
        if k == Kind::F64 {
            return function(self, arguments);
        }
        let wide: Vec<Id> = arguments.iter().map(|a| self.widened(*a)).collect();
        let value = function(self, &wide);
        self.narrowed(value)
    }

    pub(super) fn unary(&mut self, op: Unary, ty: Scalar, a: Id) -> Emitted<Id> {
        if !ty.is_float() {
            return self.integer_unary(op, ty, a);
        }
        let k = kind(ty);
        if self.target.no_float64
            && k == Kind::F32
            && let Some(value) = self.own_function(op, a)
        {
            return Ok(self.rounded(ty, value));
        }
        let zero = self.constant_of(k, 0.0);
        let one = self.constant_of(k, 1.0);
        let value = match op {
            Unary::Neg => return Ok(self.negated(k, a)),
            Unary::Abs => return Ok(self.absolute(k, a)),
            Unary::Sign | Unary::Step => {
                let negative = self.w.value(Op::FOrdLessThan, Kind::Bool, &[a, zero]);
                let minus = self.constant_of(k, -1.0);
                let (yes, no) = if op == Unary::Sign {
                    (minus, one)
                } else {
                    (one, zero)
                };
                return Ok(self.select(k, negative, yes, no));
            }
            Unary::NonZero => {
                let none = self.w.value(Op::FOrdEqual, Kind::Bool, &[a, zero]);
                return Ok(self.select(k, none, zero, one));
            }
            Unary::Floor => return Ok(self.w.extended(glsl::FLOOR, k, a)),
            Unary::Ceil => return Ok(self.w.extended(glsl::CEIL, k, a)),
            Unary::Trunc => return Ok(self.w.extended(glsl::TRUNC, k, a)),
            Unary::Rint => return Ok(self.w.extended(glsl::ROUND_EVEN, k, a)),
            Unary::Frac => {
                let whole = self.w.extended(glsl::TRUNC, k, a);
                self.w.value(Op::FSub, k, &[a, whole])
            }
            Unary::Round => {
                let whole = self.w.extended(glsl::TRUNC, k, a);
                let rest = self.w.value(Op::FSub, k, &[a, whole]);
                let rest = self.absolute(k, rest);
                let half = self.constant_of(k, 0.5);
                let away = self
                    .w
                    .value(Op::FOrdGreaterThanEqual, Kind::Bool, &[rest, half]);
                let step = self.select(k, away, one, zero);
                let step = self.copy_sign(k, step, a);
                let sum = self.w.value(Op::FAdd, k, &[whole, step]);
                self.copy_sign(k, sum, a)
            }
            Unary::Sqrt | Unary::Length => {
                self.in_double(k, &[a], |e, x| e.w.extended(glsl::SQRT, Kind::F64, x[0]))
            }
            Unary::Sin | Unary::Cos | Unary::Tan => {
                self.in_double(k, &[a], |e, x| e.circular(op, x[0]))
            }
            Unary::Asin | Unary::Acos => self.in_double(k, &[a], |e, x| e.arc(op, x[0])),
            Unary::Atan => self.in_double(k, &[a], |e, x| e.arc_tangent(x[0])),
            Unary::Exp => self.in_double(k, &[a], |e, x| e.exponential(x[0])),
            Unary::Log | Unary::Log2 | Unary::Log10 => {
                self.in_double(k, &[a], |e, x| e.logarithm(op, x[0]))
            }
            Unary::Sinh | Unary::Cosh | Unary::Tanh => {
                self.in_double(k, &[a], |e, x| e.hyperbolic(op, x[0]))
            }
            Unary::Cbrt => self.in_double(k, &[a], |e, x| e.cube_root(x[0])),
            Unary::Erf | Unary::Erfc | Unary::ErfInv | Unary::ErfcInv => {
                self.in_double(k, &[a], |e, x| e.error_function(op, x[0]))
            }
            Unary::Invert | Unary::BitCount | Unary::Pcg => {
                return self.refuse("bits of floating-point numbers");
            }
        };
        Ok(self.rounded(ty, value))
    }

    /// The device's own function of a `float32`, where it has one.
    fn own_function(&mut self, op: Unary, a: Id) -> Option<Id> {
        let function = match op {
            Unary::Sqrt | Unary::Length => glsl::SQRT,
            Unary::Sin => glsl::SIN,
            Unary::Cos => glsl::COS,
            Unary::Tan => glsl::TAN,
            Unary::Atan => glsl::ATAN,
            Unary::Sinh => glsl::SINH,
            Unary::Cosh => glsl::COSH,
            Unary::Tanh => glsl::TANH,
            Unary::Exp => glsl::EXP,
            Unary::Log => glsl::LOG,
            Unary::Log2 => glsl::LOG2,
            Unary::Asin | Unary::Acos => {
                // Rounding noise beyond 1 is forgiven.
                let (high, low) = (self.w.f32(1.0), self.w.f32(-1.0));
                let a = self.extreme(Binary::Max, Kind::F32, a, low);
                let a = self.extreme(Binary::Min, Kind::F32, a, high);
                let function = if op == Unary::Asin {
                    glsl::ASIN
                } else {
                    glsl::ACOS
                };
                return Some(self.w.extended(function, Kind::F32, a));
            }
            Unary::Log10 => {
                let logarithm = self.w.extended(glsl::LOG2, Kind::F32, a);
                let scale = self.w.f32(std::f32::consts::LOG10_2);
                return Some(self.w.value(Op::FMul, Kind::F32, &[logarithm, scale]));
            }
            Unary::Cbrt => {
                let (size, third) = (self.absolute(Kind::F32, a), self.w.f32(1.0 / 3.0));
                let root = self.w.extended_pair(glsl::POW, Kind::F32, size, third);
                return Some(self.copy_sign(Kind::F32, root, a));
            }
            _ => return None,
        };
        Some(self.w.extended(function, Kind::F32, a))
    }

    fn integer_unary(&mut self, op: Unary, ty: Scalar, a: Id) -> Emitted<Id> {
        let k = kind(ty);
        let (zero, one) = (self.w.constant(k, 0), self.w.constant(k, 1));
        let negative = |emitter: &mut Self| {
            if is_signed(ty) {
                (emitter.w).value(Op::SLessThan, Kind::Bool, &[a, zero])
            } else {
                emitter.w.constant(Kind::Bool, 0)
            }
        };
        let value = match op {
            Unary::Neg => self.w.value(Op::SNegate, k, &[a]),
            Unary::Abs => {
                let negative = negative(self);
                let minus = self.w.value(Op::SNegate, k, &[a]);
                self.select(k, negative, minus, a)
            }
            Unary::Sign => {
                let negative = negative(self);
                let minus = self.w.value(Op::SNegate, k, &[one]);
                return Ok(self.select(k, negative, minus, one));
            }
            Unary::Step => {
                let negative = negative(self);
                return Ok(self.select(k, negative, one, zero));
            }
            Unary::NonZero => {
                let none = self.w.value(Op::IEqual, Kind::Bool, &[a, zero]);
                return Ok(self.select(k, none, zero, one));
            }
            Unary::Invert => self.w.value(Op::Not, k, &[a]),
            Unary::Pcg => return Ok(self.random_step(k, a)),
            _ => return self.refuse("this function of integers"),
        };
        Ok(self.wrapped(ty, value))
    }

    pub(super) fn random_step(&mut self, k: Kind, a: Id) -> Id {
        let state = match k {
            Kind::U64 => self.w.value(Op::UConvert, Kind::U32, &[a]),
            _ => a,
        };
        let word =
            |emitter: &mut Self, op: Op, a: Id, b: Id| (emitter.w).value(op, Kind::U32, &[a, b]);
        let [factor, term, mixer, top, four, half] =
            [747_796_405, 2_891_336_453, 277_803_737, 28, 4, 22].map(|n| self.w.u32(n));
        let product = word(self, Op::IMul, state, factor);
        let sum = word(self, Op::IAdd, product, term);
        let high = word(self, Op::ShiftRightLogical, sum, top);
        let places = word(self, Op::IAdd, high, four);
        let shifted = word(self, Op::ShiftRightLogical, sum, places);
        let mixed = word(self, Op::BitwiseXor, shifted, sum);
        let mixed = word(self, Op::IMul, mixed, mixer);
        let high = word(self, Op::ShiftRightLogical, mixed, half);
        let result = word(self, Op::BitwiseXor, high, mixed);
        match k {
            Kind::U64 => self.w.value(Op::UConvert, k, &[result]),
            _ => result,
        }
    }

    fn bit_count(&mut self, ty: Scalar, a: Id) -> Id {
        let masked = |emitter: &mut Self, mask: u32| {
            let mask = emitter.w.u32(mask);
            (emitter.w).value(Op::BitwiseAnd, Kind::U32, &[a, mask])
        };
        let word = match ty {
            Scalar::I8 => masked(self, 0xff),
            Scalar::I16 => masked(self, 0xffff),
            _ if is_wide(ty) => {
                let places = self.w.u64(32);
                let high = self.w.value(Op::ShiftRightLogical, Kind::U64, &[a, places]);
                let halves = [a, high].map(|half| {
                    let word = self.w.value(Op::UConvert, Kind::U32, &[half]);
                    self.w.value(Op::BitCount, Kind::U32, &[word])
                });
                return self.w.value(Op::IAdd, Kind::U32, &halves);
            }
            _ => a,
        };
        self.w.value(Op::BitCount, Kind::U32, &[word])
    }

    pub(super) fn compare(&mut self, op: Comparison, ty: Scalar, a: Id, b: Id) -> Id {
        let (signed, float) = (is_signed(ty), ty.is_float());
        let op = match (op, float) {
            (Comparison::Equal, true) => Op::FOrdEqual,
            (Comparison::Equal, false) => Op::IEqual,
            (Comparison::NotEqual, true) => Op::FUnordNotEqual,
            (Comparison::NotEqual, false) => Op::INotEqual,
            (Comparison::Less, true) => Op::FOrdLessThan,
            (Comparison::Less, false) if signed => Op::SLessThan,
            (Comparison::Less, false) => Op::ULessThan,
            (Comparison::LessEqual, true) => Op::FOrdLessThanEqual,
            (Comparison::LessEqual, false) if signed => Op::SLessThanEqual,
            (Comparison::LessEqual, false) => Op::ULessThanEqual,
            (Comparison::Greater, true) => Op::FOrdGreaterThan,
            (Comparison::Greater, false) if signed => Op::SGreaterThan,
            (Comparison::Greater, false) => Op::UGreaterThan,
            (Comparison::GreaterEqual, true) => Op::FOrdGreaterThanEqual,
            (Comparison::GreaterEqual, false) if signed => Op::SGreaterThanEqual,
            (Comparison::GreaterEqual, false) => Op::UGreaterThanEqual,
        };
        self.w.value(op, Kind::Bool, &[a, b])
    }
}

#[cfg(test)]
mod tests {
    use crate::{Spirv, SpirvTarget};
    use warpsmith_interpreter::Interpreter;

    #[test]
    fn no_remainder_is_one_that_vulkan_leaves_undefined() {
        let source = "import warp as wp\n\n@wp.kernel\ndef k(x: wp.array(dtype=int), y: wp.array(dtype=int)):\n    \
                      i = wp.tid()\n    y[i] = x[i] % y[i] + x[i] // y[i]\n";
        let module = warpsmith_compiler::compile(source, &Default::default()).unwrap();
        let interpreter = Interpreter::forward(&module).unwrap();
        let spirv = Spirv::of(&interpreter, SpirvTarget::default()).unwrap();
        let (mut rest, mut quotients) = (&spirv.words[5..], 0);
        while let Some(head) = rest.first() {
            // `OpSRem` and `OpSMod`.
            assert!(![138, 139].contains(&(head & 0xffff)));
            quotients += usize::from(head & 0xffff == 135);
            rest = &rest[(head >> 16) as usize..];
        }
        assert!(quotients >= 2, "{quotients}");
    }
}
