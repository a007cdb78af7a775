//! Arrays that each thread has for itself: a part of a buffer as long as the launch.

use super::emitter::{Emitted, Emitter, FIRST_OWN_WORD};
use super::opcode::Op;
use super::writer::Kind;
use crate::lanes::Cell;
use crate::layout::{ARRAY_LEAVES, ARRAY_SHAPE, ARRAY_STRIDES};

/// Larger arrays are refused: each word of one is zeroed by an instruction of its own.
const MOST_WORDS: usize = 1024;

impl Emitter<'_> {
    /// Describes the thread's array and zeroes its values and gradients.
    pub(super) fn allocate(&mut self, entry: u32, array: Cell) -> Emitted {
        let program = self.program;
        let own = &program.own_arrays[entry as usize];
        let (count, bytes) = (own.count(), own.count() * own.layout.bytes);
        if bytes % 4 != 0 || bytes / 4 > MOST_WORDS {
            return self.refuse(format!("an array of a thread's own of {bytes} bytes"));
        }
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
        for space in [0, 1] {
            let base = self.buffer_address(buffer, space);
            let base = self.w.value(Op::IAdd, Kind::U64, &[base, offset]);
            for word in 0..bytes / 4 {
                let offset = self.w.u64(4 * word as u64);
                let address = self.w.value(Op::IAdd, Kind::U64, &[base, offset]);
                let pointer = self.pointer_to(Kind::U32, address);
                // 2: the alignment follows.
                self.w.act(Op::Store, &[pointer, zero, 2, 4]);
            }
        }
        Ok(())
    }
}
