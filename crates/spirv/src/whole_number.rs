//! Whole numbers of every width, in the interpreter's bits: they wrap, and a zero divisor is a fault.

use super::emitter::{Emitted, Emitter, kind};
use super::opcode::Op;
use super::writer::{Id, Kind};
use warpsmith_interpreter::scalar_form::{Binary, Unary, is_wide};
use warpsmith_ir::types::Scalar;

pub(super) fn is_signed(ty: Scalar) -> bool {
    !matches!(ty, Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64)
}

impl Emitter<'_> {
    pub(super) fn integer_binary(&mut self, op: Binary, ty: Scalar, a: Id, b: Id) -> Emitted<Id> {
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

    pub(super) fn integer_unary(&mut self, op: Unary, ty: Scalar, a: Id) -> Emitted<Id> {
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

    pub(super) fn bit_count(&mut self, ty: Scalar, a: Id) -> Id {
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
