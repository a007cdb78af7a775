//! Words that lie side by side in memory, read and written as one vector.
//!
//! A kernel on arrays of `vec4` reads 16 bytes at a time instead of four words one by one, which on an H200
//! is the difference between 2.3 and 4.2 TB/s.
//!
//! Invariant: a vector is aligned to its size. Buffers begin at multiples of 16 bytes, elements lie at
//! multiples of their size, and a group begins where both the element's size and its own place allow it.

use super::emitter::{Emitter, kind};
use super::memory::stored;
use super::opcode::Op;
use super::writer::Kind;
use warpsmith_interpreter::scalar_form::Cell;
use warpsmith_interpreter::scalar_form::{BufferAt, Instruction, Location};
use warpsmith_ir::types::Scalar;

/// A scalar of a group: its type, its cell, where it lies.
type Part = (Scalar, Cell, Location);

fn load(instruction: &Instruction) -> Option<Part> {
    match *instruction {
        Instruction::Load { ty, dst, from } => Some((ty, dst, from)),
        _ => None,
    }
}

fn store(instruction: &Instruction) -> Option<Part> {
    match *instruction {
        Instruction::Store { ty, src, to } => Some((ty, src, to)),
        _ => None,
    }
}

/// Whether writing a cell changes where something lies.
fn leads_to(at: &Location, cell: Cell) -> bool {
    at.element == cell || matches!(at.buffer, BufferAt::Cell(buffer) if buffer == cell)
}

impl Emitter<'_> {
    /// Writes the loads or stores that begin with the instruction at `at` as one, where they lie side by
    /// side. Gives the position of the last of them.
    pub(super) fn side_by_side(&mut self, at: usize) -> Option<usize> {
        if self.target.single_words {
            return None;
        }
        if let Some((parts, last)) = self.group(at, load) {
            self.load_vector(&parts);
            return Some(last);
        }
        let (parts, last) = self.group(at, store)?;
        self.store_vector(&parts);
        Some(last)
    }

    /// Four or two accesses to words that lie side by side, and the position of the last.
    fn group(
        &mut self,
        at: usize,
        part: impl Fn(&Instruction) -> Option<Part>,
    ) -> Option<(Vec<Part>, usize)> {
        let first = part(self.code.get(at)?.as_ref()?)?;
        let (_, _, place) = first;
        let layout = self.layout(place.element_type);
        let byte = |at: &Location| Some(layout.leaves.get(at.column as usize)?.byte);
        let begin = byte(&place)?;
        let aligned = |words: usize| {
            layout.bytes.is_multiple_of(4 * words) && begin.is_multiple_of(4 * words)
        };
        let most = [4, 2].into_iter().find(|words| aligned(*words))?;
        let mut parts = Vec::with_capacity(most);
        let (mut position, mut ends) = (at, [at; 4]);
        while parts.len() < most {
            let Some(next) = self.code.get(position) else {
                break;
            };
            if let Some(instruction) = next {
                let Some(found @ (ty, cell, to)) = part(instruction) else {
                    break;
                };
                let same = to.buffer == place.buffer
                    && to.element == place.element
                    && to.space == place.space
                    && to.element_type == place.element_type
                    && to.offset.is_none();
                let follows = byte(&to) == Some(begin + 4 * parts.len());
                if !same || !follows || stored(ty) != Kind::U32 || leads_to(&place, cell) {
                    break;
                }
                ends[parts.len()] = position;
                parts.push(found);
            }
            position += 1;
        }
        let words = [4, 2].into_iter().find(|words| *words <= parts.len())?;
        parts.truncate(words);
        Some((parts, ends[words - 1]))
    }

    fn load_vector(&mut self, parts: &[Part]) {
        let (ty, _, from) = parts[0];
        let place = self.place(from, ty);
        let address = self.address_or_zeros(&place);
        let (vector, pointer) = self.w.words_in_memory(parts.len());
        let pointer = self.w.typed(Op::ConvertUToPtr, pointer, &[address]);
        let aligned = 4 * parts.len() as u32;
        // 2: the alignment follows.
        let all = (self.w).typed(Op::Load, vector, &[pointer, 2, aligned]);
        for (n, (ty, dst, _)) in parts.iter().enumerate() {
            let operands = [all, n as u32];
            let word = (self.w).value(Op::CompositeExtract, Kind::U32, &operands);
            let value = self.stored_value(*ty, word);
            self.put(*dst, *ty, value);
        }
    }

    fn store_vector(&mut self, parts: &[Part]) {
        let (ty, _, to) = parts[0];
        let place = self.place(to, ty);
        let mut words = Vec::with_capacity(parts.len());
        for (ty, src, _) in parts {
            let value = self.get(*src, *ty);
            words.push(self.bits(kind(*ty), value));
        }
        let (vector, pointer) = self.w.words_in_memory(parts.len());
        let all = self.w.typed(Op::CompositeConstruct, vector, &words);
        let merge = self.open_plain(place.allowed);
        let pointer = (self.w).typed(Op::ConvertUToPtr, pointer, &[place.address]);
        let aligned = 4 * parts.len() as u32;
        self.w.act(Op::Store, &[pointer, all, 2, aligned]);
        self.close_plain(merge);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Spirv, SpirvTarget};
    use warpsmith_interpreter::Interpreter;

    /// How many vectors a kernel that copies elements of this type builds.
    fn vectors(element: &str, target: SpirvTarget) -> usize {
        let source = format!(
            "import warp as wp\n\n@wp.kernel\ndef k(x: wp.array(dtype={element}), y: \
             wp.array(dtype={element})):\n    i = wp.tid()\n    y[i] = x[i]\n"
        );
        let module = warpsmith_compiler::compile(&source, &Default::default()).unwrap();
        let spirv = Spirv::of(&Interpreter::forward(&module).unwrap(), target).unwrap();
        let mut rest = &spirv.words[5..];
        let mut found = 0;
        while let Some(head) = rest.first() {
            found += usize::from(head & 0xffff == Op::CompositeConstruct as u32);
            rest = &rest[(head >> 16) as usize..];
        }
        found
    }

    #[test]
    fn words_are_stored_together_where_they_lie_aligned() {
        let target = SpirvTarget::default();
        assert_eq!(vectors("wp.vec4", target), 1);
        assert_eq!(vectors("wp.vec2", target), 1);
        assert_eq!(vectors("wp.mat44", target), 4);
        // 12 bytes to an element: no vector is aligned in every one.
        assert_eq!(vectors("wp.vec3", target), 0);
        assert_eq!(vectors("wp.vec4d", target), 0);
        assert_eq!(vectors("float", target), 0);
        let single_words = true;
        let target = SpirvTarget {
            single_words,
            ..target
        };
        assert_eq!(vectors("wp.vec4", target), 0);
    }
}
