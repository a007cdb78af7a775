//! Steps that find elements: thread coordinates, indices of arrays, and what stops lanes.
//!
//! Where a lane has to stop, the interpreter's machine does the same work once more and says why.

use std::marker::PhantomData;

use super::step::{Body, CHUNK, Step, read_chunk, settle, target, write_chunk};
use super::worker::Worker;
use crate::findings::Fault;
use crate::lanes::{ALL, Cell, LANES, Word};
use crate::layout::{ARRAY_SHAPE, ARRAY_STRIDES};

/// The element that `RANK` indices of an array parameter name (entry `a`). What is known of the row is
/// noted as number `c`, if it is one.
pub(super) struct OfParameter<const RANK: usize>;
/// The element that indices of the array value in rows from `c` on name (entry `a`); `b` is the row of its
/// buffer, which a step of its own copies.
pub(super) struct OfValue;
/// Coordinate `a` of `b` of the thread.
pub(super) struct Coordinate;
/// Zeroes the rows from `dst` on, `a` of them.
pub(super) struct Clear;
/// Stops lanes whose divisor in `b` is zero.
pub(super) struct CheckDivisor<T>(PhantomData<T>);

/// One index along one axis: what it adds to the element's number, and whether it lies outside.
#[inline(always)]
fn along(index: i32, size: i32, stride: i32) -> (i32, u32) {
    // Counted from the end where it is negative.
    let index = index.wrapping_add(size & (index >> 31));
    let outside = u32::from(index.cast_unsigned() >= size.cast_unsigned());
    // Four factors below 2^31 with a product below it: nothing wraps where it counts.
    (index.wrapping_mul(stride), outside)
}

impl<const RANK: usize> Body for OfParameter<RANK> {
    #[inline(always)]
    unsafe fn run(worker: &mut Worker<'_>, step: &Step) {
        let entry = worker.shared.indexed[step.a as usize];
        let bindings = worker.machine.bindings;
        let mut outside = [0_u32; CHUNK];
        // The same of all lanes, active or not, and whether elements do not follow one another.
        let (mut outside_any, mut gaps) = ([0_u32; CHUNK], [0_i32; CHUNK]);
        if let Some(array) = &bindings.arrays[usize::from(entry.param)] {
            let (shape, strides) = (array.shape, array.strides);
            let out = target::<i32>(worker, step);
            let rows = entry.rows.map(|row| worker.row::<i32>(row));
            let lowest = (0..RANK).fold(0_i32, |sum, axis| {
                // SAFETY: a row of the registers.
                let index = unsafe { *rows[axis] };
                sum.wrapping_add(along(index, shape[axis], strides[axis]).0)
            });
            for first in (0..LANES).step_by(CHUNK) {
                let mut elements = [0_i32; CHUNK];
                let mut wrong = [0_u32; CHUNK];
                for axis in 0..RANK {
                    // SAFETY: a row of the registers.
                    let index = unsafe { read_chunk(rows[axis], first) };
                    for lane in 0..CHUNK {
                        let (more, bad) = along(index[lane], shape[axis], strides[axis]);
                        elements[lane] = elements[lane].wrapping_add(more);
                        wrong[lane] |= bad;
                    }
                }
                // SAFETY: `out` is a row, and the mask has as many lanes.
                unsafe {
                    let active = read_chunk(worker.spread.as_ptr(), first);
                    for lane in 0..CHUNK {
                        outside[lane] |= wrong[lane] & active[lane];
                        outside_any[lane] |= wrong[lane];
                        let next = lowest.wrapping_add((first + lane) as i32);
                        gaps[lane] |= elements[lane] ^ next;
                    }
                    write_chunk(out, first, elements);
                }
            }
            settle::<i32>(worker, step);
        } else {
            (outside, outside_any) = ([1; CHUNK], [1; CHUNK]);
        }
        let before = worker.mask;
        if outside != [0; CHUNK] {
            let (indices, dst) = (worker.indices(&entry.rows), worker.cell(step.dst));
            let (mask, at) = (worker.mask, step.at as usize);
            let machine = &mut worker.machine;
            machine.address_param(mask, at, entry.param, entry.rank, indices, dst);
            worker.refresh();
        }
        if let Some(known) = worker.known.get_mut(step.c as usize) {
            // Lanes that were not active keep what they had, unless nobody cares.
            let whole = step.local || before == ALL;
            if whole && outside_any == [0; CHUNK] {
                known.within = ALL;
                known.successive = gaps == [0; CHUNK];
            } else {
                let others = if whole { 0 } else { known.within & !before };
                known.within = others | worker.mask;
                known.successive = false;
            }
        }
    }
}

impl Body for OfValue {
    #[inline(always)]
    unsafe fn run(worker: &mut Worker<'_>, step: &Step) {
        let entry = worker.shared.indexed[step.a as usize];
        let rank = usize::from(entry.rank);
        let out = target::<i32>(worker, step);
        let field = |n: usize| worker.row::<i32>(step.c + n as u32);
        let mut outside = [0_u32; CHUNK];
        for first in (0..LANES).step_by(CHUNK) {
            // SAFETY: all are rows of the registers.
            unsafe {
                let buffer = read_chunk(field(0), first);
                let mut elements = read_chunk(field(1), first);
                let mut wrong = [0_u32; CHUNK];
                for lane in 0..CHUNK {
                    wrong[lane] = u32::from(buffer[lane] < 0);
                }
                for axis in 0..rank {
                    let index = read_chunk(worker.row::<i32>(entry.rows[axis]), first);
                    let size = read_chunk(field(ARRAY_SHAPE + axis), first);
                    let stride = read_chunk(field(ARRAY_STRIDES + axis), first);
                    for lane in 0..CHUNK {
                        let (more, bad) = along(index[lane], size[lane], stride[lane]);
                        elements[lane] = elements[lane].wrapping_add(more);
                        wrong[lane] |= bad;
                    }
                }
                for lane in 0..CHUNK {
                    outside[lane] |= wrong[lane] & worker.spread[first + lane];
                }
                write_chunk(out, first, elements);
            }
        }
        settle::<i32>(worker, step);
        if outside != [0; CHUNK] {
            let indices = worker.indices(&entry.rows);
            let [array, dst, buffer] = [step.c, step.dst, step.b].map(|row| worker.cell(row));
            let (mask, at) = (worker.mask, step.at as usize);
            let machine = &mut worker.machine;
            machine.address(mask, at, array, entry.rank, indices, dst, buffer);
            worker.refresh();
        }
    }
}

impl Body for Coordinate {
    #[inline(always)]
    unsafe fn run(worker: &mut Worker<'_>, step: &Step) {
        let (axis, rank) = (step.a as usize, step.b as usize);
        let dim = &worker.machine.bindings.dim;
        let size = |axis: usize| dim.get(axis).copied().unwrap_or(1).max(1);
        let inner: usize = (axis + 1..rank).map(size).product();
        let first = worker.machine.first_thread;
        // The outermost coordinate is whatever is left.
        let around = if axis == 0 { usize::MAX } else { size(axis) };
        let (mut value, mut within) = ((first / inner) % around, first % inner);
        let out = worker.row::<i32>(step.dst);
        // SAFETY: `out` is a row. Lanes that are not active get theirs too, as the interpreter's do.
        unsafe {
            if inner == 1 && value + LANES <= around {
                for lane in 0..LANES {
                    *out.add(lane) = (value + lane) as i32;
                }
                return;
            }
            if within + LANES <= inner {
                for lane in 0..LANES {
                    *out.add(lane) = value as i32;
                }
                return;
            }
            for lane in 0..LANES {
                *out.add(lane) = value as i32;
                within += 1;
                if within == inner {
                    within = 0;
                    value = if value + 1 == around { 0 } else { value + 1 };
                }
            }
        }
    }
}

impl Body for Clear {
    #[inline(always)]
    unsafe fn run(worker: &mut Worker<'_>, step: &Step) {
        let first = worker.cell(step.dst);
        worker.machine.registers.zero(first, step.a);
        worker.refresh();
    }
}

impl<T: Word> Body for CheckDivisor<T> {
    #[inline(always)]
    unsafe fn run(worker: &mut Worker<'_>, step: &Step) {
        let divisors = worker.row::<T>(step.b);
        let mut zero = 0;
        for lane in 0..LANES {
            // SAFETY: a row of the registers.
            let is_zero = unsafe { *divisors.add(lane) == T::zeroed() };
            zero |= u32::from(is_zero) & worker.spread[lane];
        }
        if zero != 0 {
            let lanes = (0..LANES)
                // SAFETY: as above.
                .filter(|lane| unsafe { *divisors.add(*lane) == T::zeroed() })
                .fold(0, |lanes, lane| lanes | 1 << lane);
            worker.machine.stop(
                lanes & worker.mask,
                step.at as usize,
                Fault::ZeroDivisor,
                |_, _| "the divisor is 0".to_owned(),
            );
            worker.refresh();
        }
    }
}

impl Worker<'_> {
    /// The cell of a row.
    pub(super) fn cell(&self, row: u32) -> Cell {
        Cell(row + self.machine.program.first_cell)
    }

    fn indices(&self, rows: &[u32; 4]) -> [Cell; 4] {
        rows.map(|row| self.cell(row))
    }
}
