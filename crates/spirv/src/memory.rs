//! Indices and memory: arrays by 64-bit address, every index checked.

use super::emitter::{Emitted, Emitter, ZERO_WORD, kind};
use super::opcode::{Op, storage};
use super::writer::{Id, Kind};
use warpsmith_interpreter::scalar_form::Cell;
use warpsmith_interpreter::scalar_form::{ARRAY_SHAPE, ARRAY_STRIDES};
use warpsmith_interpreter::scalar_form::{BufferAt, Instruction, Location, Space};
use warpsmith_ir::Comparison;
use warpsmith_ir::types::Scalar;

/// The type that a scalar has in memory.
pub(super) fn stored(scalar: Scalar) -> Kind {
    match scalar {
        Scalar::Bool | Scalar::I8 | Scalar::U8 => Kind::U8,
        Scalar::I16 | Scalar::U16 | Scalar::F16 | Scalar::BF16 => Kind::U16,
        Scalar::I64 | Scalar::U64 | Scalar::F64 => Kind::U64,
        _ => Kind::U32,
    }
}

/// Where a scalar lies, and whether the thread may touch it.
pub(super) struct Place {
    pub(super) address: Id,
    pub(super) allowed: Id,
}

impl Emitter<'_> {
    /// Writes an instruction about memory or indices; false if it is none.
    pub(super) fn memory(&mut self, instruction: &Instruction) -> Emitted<bool> {
        match *instruction {
            Instruction::Component { dst, index, len } => {
                let index = self.read(index, Kind::U32);
                let size = self.w.u32(len);
                let index = self.checked(index, size);
                self.write(dst, Kind::U32, index);
            }
            Instruction::AddressParam {
                param,
                rank,
                indices,
                dst,
            } => {
                let zero = self.w.u32(0);
                let word = |emitter: &mut Self, n: usize| emitter.array_word(param, n);
                let element = self.element(word, zero, rank, indices);
                self.write(dst, Kind::U32, element);
            }
            Instruction::Address {
                array,
                rank,
                indices,
                dst,
                buffer,
            } => {
                let word = |emitter: &mut Self, n: usize| emitter.read(array.at(n), Kind::U32);
                let first = word(self, 1);
                let element = self.element(word, first, rank, indices);
                let given = word(self, 0);
                self.write(dst, Kind::U32, element);
                self.write(buffer, Kind::U32, given);
            }
            Instruction::ViewIndex { array, axis, index } => {
                self.view_index(array, usize::from(axis), index);
            }
            Instruction::ViewSlice { array, axis, slice } => {
                self.view_slice(array, usize::from(axis), slice);
            }
            Instruction::Load { ty, dst, from } => {
                let place = self.place(from, ty);
                let value = self.load_scalar(ty, &place);
                self.put(dst, ty, value);
            }
            Instruction::Store { ty, src, to } => {
                let place = self.place(to, ty);
                let value = self.get(src, ty);
                let value = self.as_stored(ty, value);
                let merge = self.open_plain(place.allowed);
                let pointer = self.pointer_to(stored(ty), place.address);
                let aligned = stored(ty).bytes();
                // 2: the alignment follows.
                self.w.act(Op::Store, &[pointer, value, 2, aligned]);
                self.close_plain(merge);
            }
            Instruction::Atomic {
                update,
                ty,
                dst,
                src,
                at,
                observed,
            } => {
                let place = self.place(at, ty);
                let value = self.get(src, ty);
                let old = self.update(update, ty, &place, value)?;
                if observed {
                    self.put(dst, ty, old);
                }
            }
            Instruction::CompareExchange {
                ty,
                dst,
                expected,
                src,
                at,
            } => {
                let place = self.place(at, ty);
                let (expected, value) = (self.get(expected, ty), self.get(src, ty));
                let old = self.replace(ty, &place, |emitter, old| {
                    let same = emitter.compare(Comparison::Equal, ty, old, expected);
                    Ok(emitter.select(kind(ty), same, value, old))
                })?;
                self.put(dst, ty, old);
            }
            Instruction::LowerBound {
                ty,
                dst,
                array,
                begin,
                end,
                value,
            } => self.lower_bound(ty, dst, array, (begin, end), value),
            Instruction::Allocate { entry, array } => self.allocate(entry, array)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A pointer to an address.
    pub(super) fn pointer_to(&mut self, to: Kind, address: Id) -> Id {
        let ty = self.w.pointer(storage::PHYSICAL_STORAGE_BUFFER, to);
        self.w.typed(Op::ConvertUToPtr, ty, &[address])
    }

    pub(super) fn load_at(&mut self, kind: Kind, address: Id) -> Id {
        let pointer = self.pointer_to(kind, address);
        self.w.value(Op::Load, kind, &[pointer, 2, kind.bytes()])
    }

    /// The address of a buffer's values (space 0) or gradients (1), from the launch block.
    pub(super) fn buffer_address(&mut self, buffer: Id, space: u64) -> Id {
        let wide = self.w.value(Op::UConvert, Kind::U64, &[buffer]);
        let size = self.w.u64(16);
        let offset = self.w.value(Op::IMul, Kind::U64, &[wide, size]);
        let start = self.w.u64(self.table as u64 + 8 * space);
        let start = self.w.value(Op::IAdd, Kind::U64, &[self.block, start]);
        let address = self.w.value(Op::IAdd, Kind::U64, &[start, offset]);
        self.load_at(Kind::U64, address)
    }

    /// An index counted from the end if it is negative; out of range is a fault.
    fn checked(&mut self, index: Id, size: Id) -> Id {
        let (index, outside) = self.counted(index, size);
        self.fault(outside);
        index
    }

    /// An index counted from the end if it is negative, and whether it is out of range.
    fn counted(&mut self, index: Id, size: Id) -> (Id, Id) {
        let zero = self.w.u32(0);
        let negative = self.w.value(Op::SLessThan, Kind::Bool, &[index, zero]);
        let from_end = self.w.value(Op::IAdd, Kind::U32, &[index, size]);
        let index = self.select(Kind::U32, negative, from_end, index);
        let operands = [index, size];
        let outside = (self.w).value(Op::UGreaterThanEqual, Kind::Bool, &operands);
        (index, outside)
    }

    /// The element that indices name, of an array whose words `word` gives; out of range is a fault.
    fn element(
        &mut self,
        word: impl Fn(&mut Self, usize) -> Id,
        first: Id,
        rank: u8,
        indices: [Cell; 4],
    ) -> Id {
        let zero = self.w.u32(0);
        let buffer = word(self, 0);
        let mut wrong = self.w.value(Op::SLessThan, Kind::Bool, &[buffer, zero]);
        let mut element = first;
        for (axis, index) in indices[..usize::from(rank)].iter().enumerate() {
            let index = self.read(*index, Kind::U32);
            let size = word(self, ARRAY_SHAPE + axis);
            let (index, outside) = self.counted(index, size);
            wrong = self.w.value(Op::LogicalOr, Kind::Bool, &[wrong, outside]);
            let stride = word(self, ARRAY_STRIDES + axis);
            let step = self.w.value(Op::IMul, Kind::U32, &[index, stride]);
            element = self.w.value(Op::IAdd, Kind::U32, &[element, step]);
        }
        self.fault(wrong);
        element
    }

    fn view_index(&mut self, array: Cell, axis: usize, index: Cell) {
        let index = self.read(index, Kind::U32);
        let size = self.read(array.at(ARRAY_SHAPE + axis), Kind::U32);
        let index = self.checked(index, size);
        let stride = self.read(array.at(ARRAY_STRIDES + axis), Kind::U32);
        let step = self.w.value(Op::IMul, Kind::U32, &[index, stride]);
        let base = self.read(array.at(1), Kind::U32);
        let base = self.w.value(Op::IAdd, Kind::U32, &[base, step]);
        self.write(array.at(1), Kind::U32, base);
        for start in [ARRAY_SHAPE, ARRAY_STRIDES] {
            for n in axis..4 {
                let next = if n < 3 {
                    self.read(array.at(start + n + 1), Kind::U32)
                } else {
                    self.w.u32(0)
                };
                self.write(array.at(start + n), Kind::U32, next);
            }
        }
    }

    /// In 32 bits, which is enough.
    fn view_slice(&mut self, array: Cell, axis: usize, slice: Cell) {
        const W: Kind = Kind::U32;
        let [start, stop, step] = [0, 1, 2].map(|n| self.read(slice.at(n), W));
        let size = self.read(array.at(ARRAY_SHAPE + axis), W);
        let (zero, one, minus) = (self.w.u32(0), self.w.u32(1), self.w.u32(u32::MAX));
        let back = self.w.value(Op::SLessThan, Kind::Bool, &[step, zero]);
        let last = self.w.value(Op::ISub, W, &[size, one]);
        // The ends, in the direction of the step: what the source leaves out, and what bounds are kept to.
        let low = self.select(W, back, minus, zero);
        let high = self.select(W, back, last, size);
        let full = self.w.value(Op::SNegate, W, &[size]);
        let bound = |e: &mut Self, bound: Id| {
            let below = e.w.value(Op::SLessThan, Kind::Bool, &[bound, full]);
            let negative = e.w.value(Op::SLessThan, Kind::Bool, &[bound, zero]);
            let from_end = e.w.value(Op::IAdd, W, &[bound, size]);
            let value = e.select(W, negative, from_end, bound);
            let value = e.select(W, below, low, value);
            let over = e.w.value(Op::SGreaterThan, Kind::Bool, &[value, high]);
            e.select(W, over, high, value)
        };
        let (first, end) = (bound(self, start), bound(self, stop));
        let [no_start, no_stop] = [(start, i32::MAX), (stop, i32::MIN)].map(|(bound, absent)| {
            let absent = self.w.u32(absent.cast_unsigned());
            self.w.value(Op::IEqual, Kind::Bool, &[bound, absent])
        });
        let from = self.select(W, back, last, zero);
        let first = self.select(W, no_start, from, first);
        let to = self.select(W, back, minus, size);
        let end = self.select(W, no_stop, to, end);
        let forward = self.w.value(Op::ISub, W, &[end, first]);
        let backward = self.w.value(Op::ISub, W, &[first, end]);
        let span = self.select(W, back, backward, forward);
        let opposite = self.w.value(Op::SNegate, W, &[step]);
        let pace = self.select(W, back, opposite, step);
        let still = self.w.value(Op::IEqual, Kind::Bool, &[step, zero]);
        let divisor = self.select(W, still, one, pace);
        let some = self.w.value(Op::SGreaterThan, Kind::Bool, &[span, zero]);
        let moves = self.w.value(Op::LogicalNot, Kind::Bool, &[still]);
        let some = self.w.value(Op::LogicalAnd, Kind::Bool, &[some, moves]);
        let before = self.w.value(Op::ISub, W, &[span, one]);
        let before = self.w.value(Op::UDiv, W, &[before, divisor]);
        let length = self.w.value(Op::IAdd, W, &[before, one]);
        let length = self.select(W, some, length, zero);
        let stride = self.read(array.at(ARRAY_STRIDES + axis), W);
        let base = self.read(array.at(1), W);
        let way = self.w.value(Op::IMul, W, &[first, stride]);
        let base = self.w.value(Op::IAdd, W, &[base, way]);
        let stride = self.w.value(Op::IMul, W, &[stride, step]);
        let results = [
            (1, base),
            (ARRAY_SHAPE + axis, length),
            (ARRAY_STRIDES + axis, stride),
        ];
        for (n, value) in results {
            self.write(array.at(n), W, value);
        }
    }

    /// The address of a scalar. A thread with a fault may touch nothing, and where an array has no
    /// gradients there is nothing to touch.
    pub(super) fn place(&mut self, at: Location, ty: Scalar) -> Place {
        let space = match at.space {
            Space::Value => 0,
            Space::Gradient => 1,
        };
        let alive = self.alive();
        let zero = self.w.u32(0);
        let base = match at.buffer {
            BufferAt::Param(param) => self.base(param, space),
            BufferAt::Cell(cell) => {
                let buffer = self.read(cell, Kind::U32);
                let buffer = self.select(Kind::U32, alive, buffer, zero);
                self.buffer_address(buffer, space as u64)
            }
        };
        let none = self.w.u64(0);
        let given = self.w.value(Op::INotEqual, Kind::Bool, &[base, none]);
        let allowed = self.w.value(Op::LogicalAnd, Kind::Bool, &[alive, given]);
        let layout = self.layout(at.element_type);
        let leaf = layout.leaves.get(at.column as usize).map_or(0, |l| l.byte);
        let element = self.read(at.element, Kind::U32);
        let element = self.w.value(Op::UConvert, Kind::U64, &[element]);
        let size = self.w.u64(layout.bytes as u64);
        let offset = self.w.value(Op::IMul, Kind::U64, &[element, size]);
        let start = self.w.value(Op::IAdd, Kind::U64, &[base, offset]);
        let leaf = self.w.u64(leaf as u64);
        let mut address = self.w.value(Op::IAdd, Kind::U64, &[start, leaf]);
        if let Some(further) = at.offset {
            let further = self.read(further, Kind::U32);
            let further = self.w.value(Op::UConvert, Kind::U64, &[further]);
            let width = self.w.u64(u64::from(stored(ty).bytes()));
            let further = self.w.value(Op::IMul, Kind::U64, &[further, width]);
            address = self.w.value(Op::IAdd, Kind::U64, &[address, further]);
        }
        Place { address, allowed }
    }

    pub(super) fn load_scalar(&mut self, ty: Scalar, place: &Place) -> Id {
        let address = self.address_or_zeros(place);
        let raw = self.load_at(stored(ty), address);
        self.stored_value(ty, raw)
    }

    /// Where to read: what is not allowed reads the block's zeros instead.
    pub(super) fn address_or_zeros(&mut self, place: &Place) -> Id {
        let zero = self.w.u64(8 * ZERO_WORD as u64);
        let nowhere = self.w.value(Op::IAdd, Kind::U64, &[self.block, zero]);
        self.select(Kind::U64, place.allowed, place.address, nowhere)
    }

    /// A lane's value from what lies in memory.
    pub(super) fn stored_value(&mut self, ty: Scalar, raw: Id) -> Id {
        match ty {
            Scalar::F16 | Scalar::BF16 => {
                let word = self.w.value(Op::UConvert, Kind::U32, &[raw]);
                if ty == Scalar::F16 {
                    self.half_value(word)
                } else {
                    self.bfloat_value(word)
                }
            }
            Scalar::F32 | Scalar::F64 => self.w.value(Op::Bitcast, kind(ty), &[raw]),
            Scalar::I8 | Scalar::I16 => self.w.value(Op::SConvert, Kind::U32, &[raw]),
            Scalar::U8 | Scalar::U16 => self.w.value(Op::UConvert, Kind::U32, &[raw]),
            Scalar::Bool => {
                let word = self.w.value(Op::UConvert, Kind::U32, &[raw]);
                let zero = self.w.u32(0);
                let truth = self.w.value(Op::INotEqual, Kind::Bool, &[word, zero]);
                self.number(truth)
            }
            _ => raw,
        }
    }

    pub(super) fn as_stored(&mut self, ty: Scalar, value: Id) -> Id {
        let word = match ty {
            Scalar::F16 => self.half_bits(value),
            Scalar::BF16 => self.bfloat_bits(value),
            _ => self.bits(kind(ty), value),
        };
        match stored(ty) {
            narrow @ (Kind::U8 | Kind::U16) => self.w.value(Op::UConvert, narrow, &[word]),
            _ => word,
        }
    }
}
