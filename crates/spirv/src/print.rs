//! Printing: threads leave records in a buffer, and the host makes text of them afterwards.
//!
//! The buffer: words in use, words that there are, prints that did not fit, then the records. A record is the
//! entry of what is printed plus one, the thread, and each value in one or two words.
//!
//! Invariants: records follow one another without gaps, those of one thread in its order; a thread with a fault
//! prints nothing; no count wraps, however much is printed.

use super::emitter::{Emitter, PRINT_WORD};
use super::opcode::Op;
use super::writer::{Id, Kind};
use warpsmith_interpreter::Interpreter;
use warpsmith_interpreter::scalar_form::{Piece, is_wide};
use warpsmith_ir::types::Scalar;

/// Words in front of the records.
const HEADER: usize = 3;

impl Emitter<'_> {
    /// Appends a record of what an entry prints, if it fits.
    pub(super) fn print(&mut self, entry: u32) {
        let program = self.program;
        let mut record = vec![self.w.u32(entry + 1), self.thread];
        for piece in &program.printed[entry as usize] {
            let Piece::Value(cell, scalar, _) = *piece else {
                continue;
            };
            if is_wide(scalar) {
                let value = self.read(cell, Kind::U64);
                let places = self.w.u64(32);
                let operands = [value, places];
                let high = (self.w).value(Op::ShiftRightLogical, Kind::U64, &operands);
                for half in [value, high] {
                    record.push(self.w.value(Op::UConvert, Kind::U32, &[half]));
                }
            } else {
                record.push(self.read(cell, Kind::U32));
            }
        }
        let alive = self.alive();
        let merge = self.open_plain(alive);
        let buffer = self.word(PRINT_WORD);
        let [capacity, lost] = [4, 8].map(|bytes| {
            let bytes = self.w.u64(bytes);
            self.w.value(Op::IAdd, Kind::U64, &[buffer, bytes])
        });
        let capacity = self.load_at(Kind::U32, capacity);
        let size = self.w.u32(record.len() as u32);
        let start = self.add_below(buffer, capacity, size);
        let end = self.w.value(Op::IAdd, Kind::U32, &[start, size]);
        let fits = (self.w).value(Op::ULessThanEqual, Kind::Bool, &[end, capacity]);
        let stored = self.open_plain(fits);
        let start = self.w.value(Op::UConvert, Kind::U64, &[start]);
        let word = self.w.u64(4);
        let start = self.w.value(Op::IMul, Kind::U64, &[start, word]);
        let start = self.w.value(Op::IAdd, Kind::U64, &[buffer, start]);
        for (n, value) in record.into_iter().enumerate() {
            let offset = self.w.u64(4 * (HEADER + n) as u64);
            let address = self.w.value(Op::IAdd, Kind::U64, &[start, offset]);
            let pointer = self.pointer_to(Kind::U32, address);
            // 2: the alignment follows.
            self.w.act(Op::Store, &[pointer, value, 2, 4]);
        }
        self.close_plain(stored);
        let full = self.w.value(Op::LogicalNot, Kind::Bool, &[fits]);
        let counted = self.open_plain(full);
        let (most, one) = (self.w.u32(1 << 31), self.w.u32(1));
        self.add_below(lost, most, one);
        self.close_plain(counted);
        self.close_plain(merge);
    }

    /// Adds to a word of memory unless it has reached a limit, so that it passes the limit by what threads
    /// add at one time and never wraps. Gives the word before.
    fn add_below(&mut self, address: Id, limit: Id, amount: Id) -> Id {
        let pointer = self.pointer_to(Kind::U32, address);
        // Scope 1 is the device; 0 is no ordering.
        let (scope, order) = (self.w.u32(1), self.w.u32(0));
        let operands = [pointer, scope, order];
        let seen = self.w.value(Op::AtomicLoad, Kind::U32, &operands);
        let below = self.w.value(Op::ULessThan, Kind::Bool, &[seen, limit]);
        let zero = self.w.u32(0);
        let amount = self.select(Kind::U32, below, amount, zero);
        let operands = [pointer, scope, order, amount];
        self.w.value(Op::AtomicIAdd, Kind::U32, &operands)
    }
}

/// The buffer in which the threads of a launch print.
#[derive(Clone, Copy, Debug)]
pub struct PrintBuffer;

/// What the threads of a launch printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// In thread order, what one thread prints in its own order.
    pub lines: Vec<String>,
    /// How many more there were than the buffer takes; 2³¹ stands for that many or more.
    pub lost: u32,
}

impl PrintBuffer {
    /// Bytes of the buffer.
    pub const BYTES: usize = 1 << 20;
    /// Bytes that [`PrintBuffer::used`] reads.
    pub const HEADER_BYTES: usize = 4 * HEADER;

    /// The buffer before a launch.
    pub fn empty() -> Vec<u8> {
        let mut bytes = vec![0; Self::BYTES];
        let words = (Self::BYTES / 4 - HEADER) as u32;
        bytes[4..8].copy_from_slice(&words.to_le_bytes());
        bytes
    }

    /// How many bytes of the buffer are worth reading after a launch, by its first bytes.
    pub fn used(header: &[u8]) -> usize {
        let words = word(header, 0).saturating_add(HEADER as u32) as usize;
        Self::BYTES.min(words.saturating_mul(4))
    }

    /// What the kernel of `interpreter` printed.
    pub fn printed(interpreter: &Interpreter<'_>, bytes: &[u8]) -> Printed {
        let (_, program) = interpreter.scalar_form();
        let widths: Vec<Vec<usize>> = (program.printed.iter())
            .map(|pieces| pieces.iter().filter_map(width).collect())
            .collect();
        let words: Vec<u32> = (HEADER..bytes.len() / 4).map(|n| word(bytes, n)).collect();
        let mut lines = Vec::new();
        let mut rest = words.as_slice();
        // A record that did not fit left no words, and a zero is no entry.
        while let [entry, thread, values @ ..] = rest
            && let Some(entry) = entry.checked_sub(1)
            && let Some(widths) = widths.get(entry as usize)
            && let Some((values, next)) = values.split_at_checked(widths.iter().sum())
        {
            let mut values = values.iter();
            let bits: Vec<u64> = (widths.iter())
                .map(|width| {
                    (values.by_ref().take(*width).enumerate())
                        .map(|(n, word)| u64::from(*word) << (32 * n))
                        .sum()
                })
                .collect();
            lines.push((*thread, interpreter.print_text(entry as usize, &bits)));
            rest = next;
        }
        // Stable: what one thread prints stays in order.
        lines.sort_by_key(|(thread, _)| *thread);
        Printed {
            lines: lines.into_iter().map(|(_, line)| line).collect(),
            lost: word(bytes, 2),
        }
    }
}

/// Words that a piece takes in a record.
fn width(piece: &Piece) -> Option<usize> {
    match piece {
        Piece::Value(_, scalar, _) => Some(words_of(*scalar)),
        Piece::Text(_) => None,
    }
}

fn words_of(scalar: Scalar) -> usize {
    1 + usize::from(is_wide(scalar))
}

/// A word of the buffer; 0 behind its end.
fn word(bytes: &[u8], n: usize) -> u32 {
    let bytes = bytes.get(4 * n..).and_then(|rest| rest.first_chunk());
    bytes.map_or(0, |word| u32::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_printing(run: impl FnOnce(&Interpreter<'_>)) {
        let source = "import warp as wp\n\n@wp.kernel\ndef k(x: wp.array(dtype=wp.float64)):\n    \
                      i = wp.tid()\n    wp.printf(\"%d: %f\", i, x[i])\n    print(\"end\")\n";
        let module = warpsmith_compiler::compile(source, &Default::default()).unwrap();
        run(&Interpreter::forward(&module).unwrap());
    }

    fn buffer(records: &[u32], used: u32, lost: u32) -> Vec<u8> {
        let header = [used, 100, lost];
        let words = header.iter().chain(records);
        words.flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn records_become_lines_in_thread_order() {
        with_printing(|interpreter| {
            let half = 0.5_f64.to_bits();
            let (low, high) = (half as u32, (half >> 32) as u32);
            // Thread 7 prints before thread 2 does, and its last line before thread 2's last.
            let records = [1, 7, 7, low, high, 1, 2, 2, low, high, 2, 7, 2, 2];
            let bytes = buffer(&records, 14, 0);
            let printed = PrintBuffer::printed(interpreter, &bytes);
            assert_eq!(printed.lines, ["2: 0.500000", "end", "7: 0.500000", "end"]);
            assert_eq!(printed.lost, 0);
        });
    }

    #[test]
    fn what_is_no_record_ends_them() {
        with_printing(|interpreter| {
            // An entry that there is none of, a record that was not stored, one that is cut off.
            for tail in [vec![9, 0, 0], vec![0, 0, 0], vec![1, 0, 0, 0]] {
                let mut records = vec![2, 0];
                records.extend(tail);
                let printed = PrintBuffer::printed(interpreter, &buffer(&records, 100, 5));
                assert_eq!(printed.lines, ["end"], "{records:?}");
                assert_eq!(printed.lost, 5);
            }
            let nothing = PrintBuffer::printed(interpreter, &[]);
            assert_eq!(nothing, Printed::default());
        });
    }

    #[test]
    fn no_more_is_read_than_there_is() {
        let header = |used: u32| PrintBuffer::used(&buffer(&[], used, 0));
        assert_eq!(header(0), PrintBuffer::HEADER_BYTES);
        assert_eq!(header(5), PrintBuffer::HEADER_BYTES + 20);
        assert_eq!(header(u32::MAX), PrintBuffer::BYTES);
    }
}
