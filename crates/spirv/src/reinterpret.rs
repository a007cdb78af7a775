//! The bytes of a value as another type.

use super::emitter::{Emitter, kind};
use super::memory::stored;
use super::opcode::Op;
use super::writer::{Id, Kind};
use warpsmith_interpreter::scalar_form::Cell;
use warpsmith_ir::types::Scalar;

impl Emitter<'_> {
    pub(super) fn reinterpret(&mut self, entry: u32, dst: Cell, src: Cell) {
        let program = self.program;
        let (from, to) = &program.reinterpreted[entry as usize];
        // The bytes of each source, in words as wide as any scalar.
        let given: Vec<(usize, usize, Id)> = (from.leaves.iter().enumerate())
            .map(|(n, leaf)| {
                let value = self.get(src.at(n), leaf.scalar);
                let raw = self.raw_bits(leaf.scalar, value);
                (leaf.byte, stored(leaf.scalar).bytes() as usize, raw)
            })
            .collect();
        let made: Vec<(Scalar, Id)> = (to.leaves.iter())
            .map(|leaf| {
                let size = stored(leaf.scalar).bytes() as usize;
                let mut word = self.w.u64(0);
                for (byte, bytes, raw) in &given {
                    if *byte >= leaf.byte + size || leaf.byte >= byte + bytes {
                        continue;
                    }
                    let (op, places) = match byte.checked_sub(leaf.byte) {
                        Some(ahead) => (Op::ShiftLeftLogical, 8 * ahead),
                        None => (Op::ShiftRightLogical, 8 * (leaf.byte - byte)),
                    };
                    let places = self.w.u64(places as u64);
                    let part = self.w.value(op, Kind::U64, &[*raw, places]);
                    word = self.w.value(Op::BitwiseOr, Kind::U64, &[word, part]);
                }
                (leaf.scalar, self.value_of_raw_bits(leaf.scalar, word))
            })
            .collect();
        for (n, (scalar, value)) in made.into_iter().enumerate() {
            self.put(dst.at(n), scalar, value);
        }
    }

    /// What memory would hold of a value, zeroes above it.
    fn raw_bits(&mut self, scalar: Scalar, value: Id) -> Id {
        let bits = match scalar {
            Scalar::F16 => self.half_bits(value),
            Scalar::BF16 => self.bfloat_bits(value),
            _ => self.bits(kind(scalar), value),
        };
        let mask = match stored(scalar) {
            Kind::U64 => return bits,
            Kind::U8 => 0xff,
            Kind::U16 => 0xffff,
            _ => u32::MAX,
        };
        let mask = self.w.u32(mask);
        let bits = self.w.value(Op::BitwiseAnd, Kind::U32, &[bits, mask]);
        self.w.value(Op::UConvert, Kind::U64, &[bits])
    }

    /// The value that a lane would read from the low bits of a word.
    fn value_of_raw_bits(&mut self, scalar: Scalar, word: Id) -> Id {
        if stored(scalar) == Kind::U64 {
            return match scalar {
                Scalar::F64 => self.w.value(Op::Bitcast, Kind::F64, &[word]),
                _ => word,
            };
        }
        let bits = self.w.value(Op::UConvert, Kind::U32, &[word]);
        let low = |emitter: &mut Self, mask: u32| {
            let mask = emitter.w.u32(mask);
            (emitter.w).value(Op::BitwiseAnd, Kind::U32, &[bits, mask])
        };
        match scalar {
            Scalar::F32 => self.w.value(Op::Bitcast, Kind::F32, &[bits]),
            Scalar::F16 => {
                let half = low(self, 0xffff);
                self.half_value(half)
            }
            Scalar::BF16 => {
                let upper = low(self, 0xffff);
                self.bfloat_value(upper)
            }
            Scalar::I8 => self.extended(bits, 24),
            Scalar::I16 => self.extended(bits, 16),
            Scalar::U8 => low(self, 0xff),
            Scalar::U16 => low(self, 0xffff),
            Scalar::Bool => {
                let byte = low(self, 0xff);
                let zero = self.w.u32(0);
                let truth = self.w.value(Op::INotEqual, Kind::Bool, &[byte, zero]);
                self.number(truth)
            }
            _ => bits,
        }
    }
}
