//! What is done one lane after the other: factorisations, searches, reinterpreted bytes, arrays of a
//! lane's own.

use super::control::Machine;
use crate::factorisation::{Factorisation, MOST_RESULTS};
use crate::findings::Fault;
use crate::lanes::{Cell, Mask, each};
use crate::layout::{ARRAY_SHAPE, ARRAY_STRIDES};
use crate::memory::{lane_bits, write_bytes};
use crate::noise::{MOST_INPUTS, Noise, poisson};
use crate::object::{MOST_WORDS, Object, Question};
use warpsmith_ir::half::{round_bfloat16, round_half};
use warpsmith_ir::types::Scalar;
use warpsmith_spatial::HashGrid;

/// A float's lane bits as a number.
pub(super) fn number(ty: Scalar, bits: u64) -> f64 {
    match ty {
        Scalar::F64 => f64::from_bits(bits),
        _ => f64::from(f32::from_bits(bits as u32)),
    }
}

/// A number as a float's lane bits.
pub(super) fn bits(ty: Scalar, number: f64) -> u64 {
    match ty {
        Scalar::F64 => number.to_bits(),
        Scalar::F16 => u64::from(round_half(number as f32).to_bits()),
        Scalar::BF16 => u64::from(round_bfloat16(number as f32).to_bits()),
        _ => u64::from((number as f32).to_bits()),
    }
}

impl Machine<'_> {
    pub(super) fn factor(
        &mut self,
        mask: Mask,
        kind: Factorisation,
        ty: Scalar,
        (dst, src): (Cell, Cell),
        backward: bool,
    ) {
        let (mut given, mut made) = ([0.0; 2 * MOST_RESULTS], [0.0; MOST_RESULTS]);
        let (inputs, outputs) = if backward {
            (2 * kind.outputs(), kind.inputs())
        } else {
            (kind.inputs(), kind.outputs())
        };
        for lane in each(mask) {
            for (n, slot) in given[..inputs].iter_mut().enumerate() {
                *slot = number(ty, self.registers.bits(src.at(n), ty, lane));
            }
            if backward {
                let (factors, duals) = given[..inputs].split_at(kind.outputs());
                kind.adjoint(factors, duals, &mut made[..outputs]);
            } else {
                kind.factor(&given[..inputs], &mut made[..outputs]);
            }
            for (n, result) in made[..outputs].iter().enumerate() {
                self.put(dst.at(n), ty, lane, bits(ty, *result));
            }
        }
    }

    pub(super) fn noise(&mut self, mask: Mask, noise: Noise, dst: Cell, src: Cell, backward: bool) {
        let (inputs, outputs) = if backward {
            (noise.inputs() + noise.outputs(), noise.axes())
        } else {
            (noise.inputs(), noise.outputs())
        };
        for lane in each(mask) {
            let (mut words, mut made) = ([0; MOST_INPUTS], [0.0; 4]);
            for (n, word) in words[..inputs].iter_mut().enumerate() {
                *word = self.registers.row::<u32>(src.at(n))[lane];
            }
            if backward {
                noise.adjoint(&words[..inputs], &mut made[..outputs]);
            } else {
                noise.value(&words[..inputs], &mut made[..outputs]);
            }
            for (n, result) in made[..outputs].iter().enumerate() {
                self.registers.row_mut::<f32>(dst.at(n))[lane] = *result;
            }
        }
    }

    /// Moves on searches that are not at the end of a cell, and gives the lanes of the others.
    fn next_in_cell(&mut self, mask: Mask, dst: Cell, src: Cell) -> Mask {
        let bindings = self.bindings;
        let [next, end, found] = HashGrid::IN_CELL.map(|n| src.at(n));
        let mut grid: Option<(u64, &HashGrid)> = None;
        let mut left = 0;
        for lane in each(mask) {
            let number = self.registers.row::<u64>(src)[lane];
            if grid.is_none_or(|(known, _)| known != number) {
                grid = match bindings.objects.get(&number).map(|object| &**object) {
                    Some(Object::HashGrid(grid)) => Some((number, grid)),
                    _ => None,
                };
            }
            let at = self.registers.row::<i32>(next)[lane];
            let point = match grid {
                Some((_, grid)) if at < self.registers.row::<i32>(end)[lane] => {
                    usize::try_from(at).ok().and_then(|at| grid.point(at))
                }
                _ => None,
            };
            let Some(point) = point else {
                left |= 1 << lane;
                continue;
            };
            self.registers.row_mut::<i32>(found)[lane] = point;
            self.registers.row_mut::<i32>(next)[lane] = at + 1;
            self.registers.row_mut::<u32>(dst)[lane] = 1;
        }
        left
    }

    pub(super) fn ask(
        &mut self,
        mut mask: Mask,
        at: usize,
        question: Question,
        dst: Cell,
        src: Cell,
    ) {
        if question == Question::GridNext {
            mask = self.next_in_cell(mask, dst, src);
        }
        let (inputs, outputs) = (question.inputs(), question.outputs());
        let (mut given, mut made) = ([0; MOST_WORDS], [0; MOST_WORDS]);
        let mut missing = 0;
        for lane in each(mask) {
            for (n, scalar) in inputs.iter().enumerate() {
                given[n] = self.registers.bits(src.at(n), *scalar, lane);
            }
            let answered = question.answer(
                &self.bindings.objects,
                &given[..inputs.len()],
                &mut made[..outputs.len()],
            );
            if answered.is_none() {
                missing |= 1 << lane;
                continue;
            }
            for (n, scalar) in outputs.iter().enumerate() {
                let cell = match question {
                    question if question.moves_on() && n > 0 => src.at(n - 1),
                    _ => dst.at(n),
                };
                self.put(cell, *scalar, lane, made[n]);
            }
        }
        if missing != 0 {
            let detail = |_: &Self, _: usize| "there is no such object, or no such part".to_owned();
            self.stop(missing, at, Fault::OutOfBounds, detail);
        }
    }

    pub(super) fn poisson(&mut self, mask: Mask, dst: Cell, state: Cell, rate: Cell) {
        for lane in each(mask) {
            let rate = self.registers.row::<f32>(rate)[lane];
            let drawn = poisson(&mut self.registers.row_mut::<u32>(state)[lane], rate);
            self.registers.row_mut::<u32>(dst)[lane] = drawn;
        }
    }

    pub(super) fn reinterpret(&mut self, mask: Mask, entry: u32, dst: Cell, src: Cell) {
        let (from, to) = &self.program.reinterpreted[entry as usize];
        let mut bytes = vec![0; from.bytes.max(to.bytes)];
        for lane in each(mask) {
            bytes.fill(0);
            for (n, leaf) in from.leaves.iter().enumerate() {
                let bits = self.registers.bits(src.at(n), leaf.scalar, lane);
                write_bytes(leaf.scalar, bits, &mut bytes[leaf.byte..]);
            }
            for (n, leaf) in to.leaves.iter().enumerate() {
                let bits = lane_bits(leaf.scalar, &bytes[leaf.byte..]);
                self.put(dst.at(n), leaf.scalar, lane, bits);
            }
        }
    }

    pub(super) fn lower_bound(
        &mut self,
        mask: Mask,
        ty: Scalar,
        dst: Cell,
        array: Cell,
        (begin, end): (Cell, Cell),
        value: Cell,
    ) {
        for lane in each(mask) {
            let field = |cell: Cell| self.registers.row::<i32>(cell)[lane];
            let column = usize::try_from(field(array))
                .ok()
                .and_then(|buffer| self.bindings.buffers.get(buffer)?.columns.first());
            let (base, stride) = (field(array.at(1)), field(array.at(ARRAY_STRIDES)));
            let wanted = self.registers.bits(value, ty, lane);
            let is_less = |index: i32| {
                let element = base.wrapping_add(index.wrapping_mul(stride));
                let found = column.and_then(|column| column.get(usize::try_from(element).ok()?));
                found.is_some_and(|found| less(ty, found, wanted))
            };
            let end = field(end).min(field(array.at(ARRAY_SHAPE)));
            let found = first_not_less(field(begin), end, is_less);
            self.put(dst, Scalar::I32, lane, u64::from(found.cast_unsigned()));
        }
    }

    pub(super) fn allocate(&mut self, mask: Mask, entry: u32, array: Cell) {
        let own = &self.program.own_arrays[entry as usize];
        let buffer = self.bindings.first_own + entry as usize;
        let count = own.count();
        for lane in each(mask) {
            let mut fields = [0_i32; crate::layout::ARRAY_LEAVES];
            fields[0] = buffer as i32;
            fields[1] = (lane * count) as i32;
            let mut stride = 1;
            for axis in (0..usize::from(own.rank)).rev() {
                fields[ARRAY_SHAPE + axis] = own.dims[axis] as i32;
                fields[ARRAY_STRIDES + axis] = stride;
                stride *= own.dims[axis] as i32;
            }
            for (n, field) in fields.into_iter().enumerate() {
                self.registers.row_mut::<i32>(array.at(n))[lane] = field;
            }
            let memory = self.bindings.buffers.get(buffer);
            let gradients = self.bindings.gradients.get(buffer).and_then(Option::as_ref);
            for column in memory.into_iter().chain(gradients).flat_map(|m| &m.columns) {
                (lane * count..(lane + 1) * count).for_each(|element| column.set(element, 0));
            }
        }
    }
}

/// The first index from `begin` on, before `end`, that is not less; the last of them where all are.
#[inline]
pub(crate) fn first_not_less(begin: i32, end: i32, is_less: impl Fn(i32) -> bool) -> i32 {
    let (mut low, mut high) = (begin.max(0), end.saturating_sub(1));
    while low < high {
        let middle = low + (high - low) / 2;
        if is_less(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

pub(crate) fn less(ty: Scalar, a: u64, b: u64) -> bool {
    match ty {
        Scalar::F32 | Scalar::F16 | Scalar::BF16 | Scalar::F64 => number(ty, a) < number(ty, b),
        Scalar::I64 => (a as i64) < b as i64,
        Scalar::I8 | Scalar::I16 | Scalar::I32 => (a as u32 as i32) < b as u32 as i32,
        _ => a < b,
    }
}
