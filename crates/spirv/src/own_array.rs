//! Arrays that each thread has for itself: a part of a buffer as long as the launch.

use super::emitter::{Emitted, Emitter, FIRST_OWN_WORD};
use super::opcode::Op;
use super::writer::{Id, Kind};
use warpsmith_interpreter::scalar_form::Cell;
use warpsmith_interpreter::scalar_form::{ARRAY_LEAVES, ARRAY_SHAPE, ARRAY_STRIDES};

/// Stores in a row; larger arrays are zeroed by a loop of them.
const MOST_STORES: usize = 16;

impl Emitter<'_> {
    /// Describes the thread's array and zeroes its values and gradients.
    pub(super) fn allocate(&mut self, entry: u32, array: Cell) -> Emitted {
        let program = self.program;
        let own = &program.own_arrays[entry as usize];
        let (count, bytes) = (own.count(), own.count() * own.layout.bytes);
        let first = self.word(FIRST_OWN_WORD);
        let first = self.w.value(Op::UConvert, Kind::U32, &[first]);
        let entry = self.w.u32(entry);
        let buffer = self.w.value(Op::IAdd, Kind::U32, &[first, entry]);
        let length = self.w.u32(count as u32);
        let start = self.w.value(Op::IMul, Kind::U32, &[self.thread, length]);
        let zero = self.w.u32(0);
        let mut fields = [zero; ARRAY_LEAVES];
        (fields[0], fields[1]) = (buffer, start);
        let mut stride = 1;
        for axis in (0..usize::from(own.rank)).rev() {
            fields[ARRAY_SHAPE + axis] = self.w.u32(own.dims[axis]);
            fields[ARRAY_STRIDES + axis] = self.w.u32(stride);
            stride *= own.dims[axis];
        }
        for (n, field) in fields.into_iter().enumerate() {
            self.write(array.at(n), Kind::U32, field);
        }
        let start = self.w.value(Op::UConvert, Kind::U64, &[start]);
        let size = self.w.u64(own.layout.bytes as u64);
        let offset = self.w.value(Op::IMul, Kind::U64, &[start, size]);
        // As wide as no other thread's array begins in the middle of one.
        let unit = match bytes % 8 {
            0 => Kind::U64,
            4 => Kind::U32,
            2 | 6 => Kind::U16,
            _ => Kind::U8,
        };
        let units = bytes / unit.bytes() as usize;
        let (rounds, rest) = (units / MOST_STORES, units % MOST_STORES);
        for space in [0, 1] {
            let base = self.buffer_address(buffer, space);
            let base = self.w.value(Op::IAdd, Kind::U64, &[base, offset]);
            if rounds > 0 {
                self.each_below(rounds, |e, round| {
                    let many = e.w.u32(MOST_STORES as u32);
                    let first = e.w.value(Op::IMul, Kind::U32, &[round, many]);
                    for n in 0..MOST_STORES {
                        let n = e.w.u32(n as u32);
                        let n = e.w.value(Op::IAdd, Kind::U32, &[first, n]);
                        e.zero_unit(unit, base, n);
                    }
                    Ok(())
                })?;
            }
            for n in units - rest..units {
                let n = self.w.u32(n as u32);
                self.zero_unit(unit, base, n);
            }
        }
        Ok(())
    }

    fn zero_unit(&mut self, unit: Kind, base: Id, n: Id) {
        let address = self.address_of(base, n, unit.bytes() as usize);
        let pointer = self.pointer_to(unit, address);
        let zero = match unit {
            Kind::U64 => self.w.u64(0),
            Kind::U32 => self.w.u32(0),
            _ => {
                let zero = self.w.u32(0);
                self.w.value(Op::UConvert, unit, &[zero])
            }
        };
        // 2: the alignment follows.
        self.w.act(Op::Store, &[pointer, zero, 2, unit.bytes()]);
    }
}
