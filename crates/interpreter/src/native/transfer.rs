//! Steps that load, store and update memory.
//!
//! Lanes store and update in the order of their threads, as the interpreter's do: where several meet in one
//! element, the result is the same.

use std::marker::PhantomData;

use bytemuck::Zeroable;

use super::memory::Stored;
use super::place::{Elements, Found, Place};
use super::step::{Body, CHUNK, Step, read_chunk, settle, target, write_chunk};
use super::worker::Worker;
use crate::instruction::{Instruction, Update};
use crate::lanes::{ALL, LANES, Word, each};
use crate::machine::updated;
use warpsmith_ir::types::Scalar;

/// Loads from place `b`.
pub(super) struct Load<S>(PhantomData<S>);
/// Stores `a` at place `b`.
pub(super) struct Store<S>(PhantomData<S>);
/// Exchanges place `b` and `a`: the old value is the result.
pub(super) struct Exchange<S>(PhantomData<S>);
/// Adds `a` to the floats at place `b`; nobody looks at the old value.
pub(super) struct Add<S, T>(PhantomData<(S, T)>);
/// Any other update of place `b` by `a`, which entry `c` of the program's code describes.
pub(super) struct Modify<S>(PhantomData<S>);

/// The words of 64 scalars.
///
/// # Safety
/// Every element lies in an array.
#[inline(always)]
unsafe fn fetch<S: Stored>(elements: &Elements, first: usize) -> [S::Word; CHUNK] {
    let mut new = [S::Word::zeroed(); CHUNK];
    // SAFETY: the caller's.
    unsafe {
        if let Some(from) = elements.run::<S>() {
            for lane in 0..CHUNK {
                new[lane] = S::get(from.add((first + lane) * S::BYTES));
            }
        } else {
            for lane in 0..CHUNK {
                new[lane] = S::get(elements.at(first + lane));
            }
        }
    }
    new
}

/// Writes 0 to the active lanes of a row.
#[inline(always)]
unsafe fn clear<T: Word>(worker: &Worker<'_>, out: *mut T) {
    for lane in each(worker.mask) {
        // SAFETY: the caller gives a row.
        unsafe { *out.add(lane) = T::zeroed() };
    }
}

impl<S: Stored> Body for Load<S> {
    #[inline(always)]
    unsafe fn run(worker: &mut Worker<'_>, step: &Step) {
        let place = &worker.shared.places[step.b as usize];
        let out = worker.row::<S::Word>(step.dst);
        match place.find(worker) {
            Found::Together(elements) => {
                let out = target::<S::Word>(worker, step);
                for first in (0..LANES).step_by(CHUNK) {
                    // SAFETY: `find` says that the elements lie in one array; `out` is a row.
                    unsafe { write_chunk(out, first, fetch::<S>(&elements, first)) };
                }
                settle::<S::Word>(worker, step);
            }
            // SAFETY: `out` is a row.
            Found::Nothing => unsafe { clear(worker, out) },
            Found::Apart => {
                for lane in each(worker.mask) {
                    let from = place.of_lane(worker, lane);
                    // SAFETY: `of_lane` gives a scalar of an array, `out` is a row.
                    unsafe {
                        *out.add(lane) = from.map_or(S::Word::zeroed(), |from| S::get(from));
                    }
                }
            }
        }
    }
}

impl<S: Stored> Body for Store<S> {
    #[inline(always)]
    unsafe fn run(worker: &mut Worker<'_>, step: &Step) {
        let place = &worker.shared.places[step.b as usize];
        let source = worker.row::<S::Word>(step.a);
        match place.find(worker) {
            Found::Together(elements) => {
                // SAFETY: `find` says that the elements lie in one array; `source` is a row.
                unsafe { write_elements::<S>(worker, &elements, source) };
            }
            Found::Nothing => {}
            Found::Apart => {
                for lane in each(worker.mask) {
                    if let Some(to) = place.of_lane(worker, lane) {
                        // SAFETY: `of_lane` gives a scalar of an array, `source` is a row.
                        unsafe { S::put(to, *source.add(lane)) };
                    }
                }
            }
        }
    }
}

/// # Safety
/// The active lanes' elements lie in an array, and `source` is a row.
#[inline(always)]
unsafe fn write_elements<S: Stored>(
    worker: &Worker<'_>,
    elements: &Elements,
    source: *const S::Word,
) {
    // SAFETY: the caller's.
    unsafe {
        if let Some(to) = elements.run::<S>() {
            if worker.mask == ALL {
                for first in (0..LANES).step_by(CHUNK) {
                    let new = read_chunk(source, first);
                    for lane in 0..CHUNK {
                        S::put(to.add((first + lane) * S::BYTES), new[lane]);
                    }
                }
            } else {
                for lane in 0..LANES {
                    if worker.spread[lane] != 0 {
                        S::put(to.add(lane * S::BYTES), *source.add(lane));
                    }
                }
            }
        } else if worker.mask == ALL {
            for lane in 0..LANES {
                S::put(elements.at(lane), *source.add(lane));
            }
        } else {
            for lane in each(worker.mask) {
                S::put(elements.at(lane), *source.add(lane));
            }
        }
    }
}

impl<S: Stored> Body for Exchange<S> {
    #[inline(always)]
    unsafe fn run(worker: &mut Worker<'_>, step: &Step) {
        let place = &worker.shared.places[step.b as usize];
        let (source, out) = (
            worker.row::<S::Word>(step.a),
            worker.row::<S::Word>(step.dst),
        );
        match place.find(worker) {
            Found::Together(elements) if elements.successive && worker.mask == ALL => {
                for first in (0..LANES).step_by(CHUNK) {
                    // SAFETY: `find` says that the elements lie in one array; the others are rows.
                    unsafe {
                        let new = fetch::<S>(&elements, first);
                        let given = read_chunk(source, first);
                        for lane in 0..CHUNK {
                            S::put(elements.at(first + lane), given[lane]);
                        }
                        write_chunk(out, first, new);
                    }
                }
            }
            // SAFETY: `out` is a row.
            Found::Nothing => unsafe { clear(worker, out) },
            _ => {
                for lane in each(worker.mask) {
                    let at = place.of_lane(worker, lane);
                    // SAFETY: `of_lane` gives a scalar of an array, the others are rows.
                    unsafe {
                        let given = *source.add(lane);
                        *out.add(lane) = at.map_or(S::Word::zeroed(), |at| {
                            let old = S::get(at);
                            S::put(at, given);
                            old
                        });
                    }
                }
            }
        }
    }
}

/// A float as the bits that lie in memory.
pub(super) trait Sum: Word {
    type Bits: Word;
    fn sum(bits: Self::Bits, value: Self) -> Self::Bits;
}

impl Sum for f32 {
    type Bits = u32;
    #[inline(always)]
    fn sum(bits: u32, value: Self) -> u32 {
        (Self::from_bits(bits) + value).to_bits()
    }
}

impl Sum for f64 {
    type Bits = u64;
    #[inline(always)]
    fn sum(bits: u64, value: Self) -> u64 {
        (Self::from_bits(bits) + value).to_bits()
    }
}

impl<T: Sum, S: Stored<Word = T::Bits>> Body for Add<S, T> {
    #[inline(always)]
    unsafe fn run(worker: &mut Worker<'_>, step: &Step) {
        let place = &worker.shared.places[step.b as usize];
        let source = worker.row::<T>(step.a);
        // SAFETY: `at` is a scalar of an array, and `lane` one of the row's.
        let add = |at: *mut u8, lane: usize| unsafe {
            S::put(at, T::sum(S::get(at), *source.add(lane)));
        };
        match place.find(worker) {
            Found::Together(elements) => {
                let run = elements.run::<S>();
                if let Some(to) = run.filter(|_| worker.mask != ALL) {
                    for lane in 0..LANES {
                        if worker.spread[lane] != 0 {
                            add(to.wrapping_add(lane * S::BYTES), lane);
                        }
                    }
                } else if let Some(to) = run {
                    for first in (0..LANES).step_by(CHUNK) {
                        // SAFETY: `find` says that the elements lie in one array; `source` is a row.
                        unsafe {
                            let old = fetch::<S>(&elements, first);
                            let given = read_chunk(source, first);
                            let mut new = old;
                            for lane in 0..CHUNK {
                                new[lane] = T::sum(old[lane], given[lane]);
                            }
                            for lane in 0..CHUNK {
                                S::put(to.add((first + lane) * S::BYTES), new[lane]);
                            }
                        }
                    }
                } else if let Some(at) = elements.same(worker) {
                    // One after another all the same, without the way through memory.
                    // SAFETY: as above.
                    unsafe {
                        let sum =
                            (0..LANES).fold(S::get(at), |sum, lane| T::sum(sum, *source.add(lane)));
                        S::put(at, sum);
                    }
                } else if worker.mask == ALL {
                    (0..LANES).for_each(|lane| add(elements.at(lane), lane));
                } else {
                    each(worker.mask).for_each(|lane| add(elements.at(lane), lane));
                }
            }
            Found::Nothing => {}
            Found::Apart => {
                for lane in each(worker.mask) {
                    if let Some(at) = place.of_lane(worker, lane) {
                        add(at, lane);
                    }
                }
            }
        }
    }
}

/// A word's bits, widened.
#[inline(always)]
fn bits<T: Word>(word: T) -> u64 {
    if size_of::<T>() == 8 {
        *bytemuck::from_bytes(bytemuck::bytes_of(&word))
    } else {
        u64::from(*bytemuck::from_bytes::<u32>(bytemuck::bytes_of(&word)))
    }
}

/// The word with these bits.
#[inline(always)]
fn word<T: Word>(bits: u64) -> T {
    if size_of::<T>() == 8 {
        *bytemuck::from_bytes(bytemuck::bytes_of(&bits))
    } else {
        *bytemuck::from_bytes(bytemuck::bytes_of(&(bits as u32)))
    }
}

/// What an update or an exchange makes of the old value.
struct Change {
    update: Option<Update>,
    ty: Scalar,
    observed: bool,
}

impl Change {
    fn of(worker: &Worker<'_>, step: &Step, place: &Place) -> Self {
        let (update, observed) = match worker.machine.program.code[step.at as usize] {
            Instruction::Atomic {
                update, observed, ..
            } => (Some(update), observed),
            _ => (None, true),
        };
        Self {
            update,
            ty: place.ty,
            observed,
        }
    }

    /// The bits after it; `c` are those that a comparison expects.
    #[inline(always)]
    fn apply(&self, old: u64, given: u64, expected: u64) -> u64 {
        if let Some(update) = self.update {
            return updated(update, self.ty, old, given);
        }
        let same = match self.ty {
            Scalar::F32 => f32::from_bits(old as u32) == f32::from_bits(expected as u32),
            Scalar::F64 => f64::from_bits(old) == f64::from_bits(expected),
            _ => old == expected,
        };
        if same { given } else { old }
    }
}

impl<S: Stored> Body for Modify<S> {
    #[inline(always)]
    unsafe fn run(worker: &mut Worker<'_>, step: &Step) {
        let place = &worker.shared.places[step.b as usize];
        let change = Change::of(worker, step, place);
        let (source, out) = (
            worker.row::<S::Word>(step.a),
            worker.row::<S::Word>(step.dst),
        );
        let expected = worker.row::<S::Word>(step.c);
        // Of threads on several cores, only integers that nobody looks at meet.
        let meet = worker.shared.parallel && !change.observed && !change.ty.is_float();
        for lane in each(worker.mask) {
            let at = place.of_lane(worker, lane);
            // SAFETY: `of_lane` gives a scalar of an array, aligned where threads meet; the others are rows.
            unsafe {
                let (given, expected) = (bits(*source.add(lane)), bits(*expected.add(lane)));
                let next = |old: S::Word| word(change.apply(bits(old), given, expected));
                let old = at.map_or(S::Word::zeroed(), |at| {
                    if meet {
                        return S::update(at, next);
                    }
                    let old = S::get(at);
                    S::put(at, next(old));
                    old
                });
                if change.observed {
                    *out.add(lane) = old;
                }
            }
        }
    }
}
