//! Atomic updates of memory.
//!
//! Whole numbers are updated by the memory. Floats are updated here and exchanged, so that their rounding is
//! ours; so are 8-bit and 16-bit scalars, in the 32-bit word that they lie in.

use super::emitter::{Emitted, Emitter, kind};
use super::memory::{Place, stored};
use super::opcode::{Op, capability};
use super::writer::{Id, Kind};
use warpsmith_interpreter::scalar_form::{Binary, Update};
use warpsmith_ir::types::Scalar;

/// Where a small scalar lies in its word.
struct Part {
    shift: Id,
    mask: Id,
}

impl Emitter<'_> {
    /// Updates memory; gives the value before, or zero where nothing may be touched.
    pub(super) fn update(
        &mut self,
        update: Update,
        ty: Scalar,
        place: &Place,
        value: Id,
    ) -> Emitted<Id> {
        let small = matches!(stored(ty), Kind::U8 | Kind::U16);
        let op = match update {
            Update::Exchange if !small => Op::AtomicExchange,
            Update::Binary(op) if !small && !ty.is_float() => {
                let unsigned = matches!(ty, Scalar::U32 | Scalar::U64);
                match op {
                    Binary::Add => Op::AtomicIAdd,
                    Binary::Sub => Op::AtomicISub,
                    Binary::And => Op::AtomicAnd,
                    Binary::Or => Op::AtomicOr,
                    Binary::Xor => Op::AtomicXor,
                    Binary::Min if unsigned => Op::AtomicUMin,
                    Binary::Min => Op::AtomicSMin,
                    _ if unsigned => Op::AtomicUMax,
                    _ => Op::AtomicSMax,
                }
            }
            _ => {
                return self.replace(ty, place, |emitter, old| match update {
                    Update::Exchange => Ok(value),
                    Update::Binary(op) => emitter.binary(op, ty, old, value),
                });
            }
        };
        let words = self.atomic_kind(ty);
        let raw = self.bits(kind(ty), value);
        let result = self.w.variable(words);
        let zero = self.w.constant(words, 0);
        self.w.act(Op::Store, &[result, zero]);
        let (scope, order) = (self.w.u32(1), self.w.u32(0));
        let merge = self.open_plain(place.allowed);
        let pointer = self.pointer_to(words, place.address);
        let old = self.w.value(op, words, &[pointer, scope, order, raw]);
        self.w.act(Op::Store, &[result, old]);
        self.close_plain(merge);
        let old = self.w.value(Op::Load, words, &[result]);
        Ok(self.stored_value(ty, old))
    }

    fn atomic_kind(&mut self, ty: Scalar) -> Kind {
        if stored(ty) == Kind::U64 {
            self.w.require(capability::INT64_ATOMICS);
            return Kind::U64;
        }
        Kind::U32
    }

    /// Replaces a value by a function of it, again until no other thread came between.
    pub(super) fn replace(
        &mut self,
        ty: Scalar,
        place: &Place,
        new: impl FnOnce(&mut Self, Id) -> Emitted<Id>,
    ) -> Emitted<Id> {
        let words = self.atomic_kind(ty);
        let (address, part) = self.part(ty, place.address);
        let seen = self.w.variable(words);
        let left_by_itself = self.unknown.is_some().then(|| self.w.variable(Kind::U32));
        let zero = self.w.constant(words, 0);
        self.w.act(Op::Store, &[seen, zero]);
        let (scope, order) = (self.w.u32(1), self.w.u32(0));
        let merge = self.open_plain(place.allowed);
        let pointer = self.pointer_to(words, address);
        let first = self
            .w
            .value(Op::AtomicLoad, words, &[pointer, scope, order]);
        self.w.act(Op::Store, &[seen, first]);
        let [head, body, next, done] = [0; 4].map(|_| self.w.id());
        self.w.act(Op::Branch, &[head]);
        self.w.label(head);
        self.w.act(Op::LoopMerge, &[done, next, 0]);
        self.w.act(Op::Branch, &[body]);
        self.w.label(body);
        let expected = self.w.value(Op::Load, words, &[seen]);
        let old = self.value_in(ty, part.as_ref(), expected);
        let value = new(self, old)?;
        let raw = self.word_with(ty, part.as_ref(), expected, value);
        let operands = [pointer, scope, order, order, raw, expected];
        let found = self.w.value(Op::AtomicCompareExchange, words, &operands);
        self.w.act(Op::Store, &[seen, found]);
        let changed = self.w.value(Op::INotEqual, Kind::Bool, &[found, expected]);
        self.note_exit(left_by_itself, changed);
        self.w.act(Op::BranchConditional, &[changed, next, done]);
        self.w.label(next);
        self.w.act(Op::Branch, &[head]);
        self.w.label(done);
        self.check_exit(left_by_itself);
        self.close_plain(merge);
        let old = self.w.value(Op::Load, words, &[seen]);
        Ok(self.value_in(ty, part.as_ref(), old))
    }

    /// The address of the word that a scalar lies in, and which part of it a small one is.
    fn part(&mut self, ty: Scalar, address: Id) -> (Id, Option<Part>) {
        let mask = match stored(ty) {
            Kind::U8 => 0xff,
            Kind::U16 => 0xffff,
            _ => return (address, None),
        };
        let (low, high, eight) = (self.w.u64(3), self.w.u64(!3), self.w.u32(8));
        let byte = self.w.value(Op::BitwiseAnd, Kind::U64, &[address, low]);
        let byte = self.w.value(Op::UConvert, Kind::U32, &[byte]);
        let part = Part {
            shift: self.w.value(Op::IMul, Kind::U32, &[byte, eight]),
            mask: self.w.u32(mask),
        };
        let word = self.w.value(Op::BitwiseAnd, Kind::U64, &[address, high]);
        (word, Some(part))
    }

    /// The scalar in a word.
    fn value_in(&mut self, ty: Scalar, part: Option<&Part>, word: Id) -> Id {
        let Some(part) = part else {
            return self.stored_value(ty, word);
        };
        let operands = [word, part.shift];
        let bits = self.w.value(Op::ShiftRightLogical, Kind::U32, &operands);
        let bits = self.w.value(Op::BitwiseAnd, Kind::U32, &[bits, part.mask]);
        match ty {
            Scalar::F16 => self.half_value(bits),
            Scalar::BF16 => self.bfloat_value(bits),
            Scalar::I8 => self.extended(bits, 24),
            Scalar::I16 => self.extended(bits, 16),
            _ => bits,
        }
    }

    /// The word with another scalar in it.
    fn word_with(&mut self, ty: Scalar, part: Option<&Part>, word: Id, value: Id) -> Id {
        let Some(part) = part else {
            return self.bits(kind(ty), value);
        };
        let bits = match ty {
            Scalar::F16 => self.half_bits(value),
            Scalar::BF16 => self.bfloat_bits(value),
            _ => value,
        };
        let bits = self.w.value(Op::BitwiseAnd, Kind::U32, &[bits, part.mask]);
        let operands = [bits, part.shift];
        let bits = self.w.value(Op::ShiftLeftLogical, Kind::U32, &operands);
        let operands = [part.mask, part.shift];
        let place = self.w.value(Op::ShiftLeftLogical, Kind::U32, &operands);
        let others = self.w.value(Op::Not, Kind::U32, &[place]);
        let others = self.w.value(Op::BitwiseAnd, Kind::U32, &[word, others]);
        self.w.value(Op::BitwiseOr, Kind::U32, &[others, bits])
    }
}
