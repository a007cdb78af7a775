//! Steps: instructions as functions of rows of lanes, compiled for the machine's vectors.
//!
//! Invariant: the rows and entries that a step names lie inside the worker's registers and tables, because
//! both come from one program; a step compiled for vectors exists only where detection found them.

use std::marker::PhantomData;

#[cfg(target_arch = "x86_64")]
use warpsmith_lanes::{HasAvx2, InstructionSet, features};

use super::worker::Worker;
use crate::lanes::{ALL, LANES, Word, each};
use crate::operations::Visitor;

/// What a step does. Unsafe: the step must belong to the program whose registers the worker has, and the
/// machine must have the instructions that the function was compiled for.
pub(super) type Function = unsafe fn(&mut Worker<'_>, &Step);

/// One instruction: a function, and its operands as rows of the registers or entries of tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) run: Function,
    pub(super) dst: u32,
    pub(super) a: u32,
    pub(super) b: u32,
    pub(super) c: u32,
    /// The instruction's position in the program.
    pub(super) at: u32,
    /// Whether lanes that are not active may be overwritten, because nothing reads them.
    pub(super) local: bool,
}

/// What a step does, before it is compiled for an instruction set. `run` is `#[inline(always)]`, and so is
/// everything that it calls.
pub(super) trait Body {
    /// # Safety
    /// As [`Function`] says.
    unsafe fn run(worker: &mut Worker<'_>, step: &Step);
}

/// # Safety
/// As [`Function`] says.
unsafe fn portable<B: Body>(worker: &mut Worker<'_>, step: &Step) {
    // SAFETY: the caller's.
    unsafe { B::run(worker, step) }
}

#[cfg(target_arch = "x86_64")]
features! {Avx2 function
    /// # Safety
    /// As [`Function`] says.
    unsafe fn in_avx2<B: Body>(worker: &mut Worker<'_>, step: &Step) {
        // SAFETY: the caller's.
        unsafe { B::run(worker, step) }
    }
}

/// The function of a body, compiled for every machine.
pub(super) fn plain<B: Body>() -> Function {
    portable::<B>
}

/// Proof that this machine has the vectors that steps are compiled for: AVX2 on x86-64, elsewhere those of
/// every machine of the architecture. A second set would compile every operation once more, for machines
/// that the interpreter serves as well.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vectors(#[cfg(target_arch = "x86_64")] HasAvx2);

impl Vectors {
    /// The proof, where there is one.
    pub(super) fn detect() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        {
            InstructionSet::widest().avx2().map(Self)
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            Some(Self())
        }
    }
}

/// The function of a body, compiled for vectors.
pub(super) fn compiled<B: Body>(_: Vectors) -> Function {
    #[cfg(target_arch = "x86_64")]
    {
        in_avx2::<B>
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        portable::<B>
    }
}

/// A function that captures nothing, from its type.
#[inline(always)]
fn conjure<F: Copy + 'static>() -> F {
    const { assert!(size_of::<F>() == 0) };
    // SAFETY: a value without bytes has no invalid ones; that the type has values shows the one that
    // `Compile` was given.
    unsafe { std::mem::transmute_copy::<(), F>(&()) }
}

/// A function of one cell, in every lane.
struct Cheap1<T, U, F>(PhantomData<fn(T, F) -> U>);
/// A function of two cells, in every lane.
struct Cheap2<T, U, F>(PhantomData<fn(T, F) -> U>);
/// A function of one cell, in the active lanes.
struct Costly1<T, U, F>(PhantomData<fn(T, F) -> U>);
/// A function of two cells, in the active lanes.
struct Costly2<T, U, F>(PhantomData<fn(T, F) -> U>);

/// Lanes that are computed together: one or two registers of the widest set.
pub(super) const CHUNK: usize = 16;

/// Where a step writes its row: the row itself, or a spare one where some lanes keep what they have.
#[inline(always)]
pub(super) fn target<U: Word>(worker: &mut Worker<'_>, step: &Step) -> *mut U {
    if step.local || worker.mask == ALL {
        worker.row::<U>(step.dst)
    } else {
        (&raw mut worker.spare).cast()
    }
}

/// Copies the active lanes of the spare row, if that is what [`target`] gave.
#[inline(always)]
pub(super) fn settle<U: Word>(worker: &mut Worker<'_>, step: &Step) {
    if !step.local && worker.mask != ALL {
        if size_of::<U>() == 8 {
            blend_wide(worker, step.dst);
        } else {
            blend_narrow(worker, step.dst);
        }
    }
}

#[inline(never)]
fn blend_narrow(worker: &mut Worker<'_>, row: u32) {
    let out = worker.row::<u32>(row);
    let new: &[u32; 2 * LANES] = bytemuck::cast_ref(&worker.spare.0);
    for lane in 0..LANES {
        let active = worker.spread[lane];
        // SAFETY: a row has that many lanes.
        unsafe { *out.add(lane) = (new[lane] & active) | (*out.add(lane) & !active) };
    }
}

#[inline(never)]
fn blend_wide(worker: &mut Worker<'_>, row: u32) {
    let out = worker.row::<u64>(row);
    let new = &worker.spare.0;
    for lane in 0..LANES {
        let active = i64::from(worker.spread[lane].cast_signed()).cast_unsigned();
        // SAFETY: a row has that many lanes.
        unsafe { *out.add(lane) = (new[lane] & active) | (*out.add(lane) & !active) };
    }
}

/// Writes a chunk of a row.
///
/// # Safety
/// `out` is a row of the registers or the spare one, and `first` the first lane of a chunk.
#[inline(always)]
pub(super) unsafe fn write_chunk<U: Word>(out: *mut U, first: usize, new: [U; CHUNK]) {
    // SAFETY: a row has the lanes from `first` to the end of the chunk.
    unsafe { *out.add(first).cast::<[U; CHUNK]>() = new };
}

/// A chunk of a row, by value: what is written next may be the same row.
///
/// # Safety
/// `row` is a row of the registers, and `first` the first lane of a chunk.
#[inline(always)]
pub(super) unsafe fn read_chunk<T: Word>(row: *const T, first: usize) -> [T; CHUNK] {
    // SAFETY: a row has the lanes from `first` to the end of the chunk.
    unsafe { *row.add(first).cast::<[T; CHUNK]>() }
}

impl<T: Word, U: Word, F: Fn(T) -> U + Copy + 'static> Body for Cheap1<T, U, F> {
    #[inline(always)]
    unsafe fn run(worker: &mut Worker<'_>, step: &Step) {
        let f = conjure::<F>();
        let (a, out) = (worker.row::<T>(step.a), target::<U>(worker, step));
        for first in (0..LANES).step_by(CHUNK) {
            // SAFETY: both are rows of the registers.
            unsafe {
                let a = read_chunk(a, first);
                let mut new = [U::zeroed(); CHUNK];
                for lane in 0..CHUNK {
                    new[lane] = f(a[lane]);
                }
                write_chunk(out, first, new);
            }
        }
        settle::<U>(worker, step);
    }
}

impl<T: Word, U: Word, F: Fn(T, T) -> U + Copy + 'static> Body for Cheap2<T, U, F> {
    #[inline(always)]
    unsafe fn run(worker: &mut Worker<'_>, step: &Step) {
        let f = conjure::<F>();
        let (a, b) = (worker.row::<T>(step.a), worker.row::<T>(step.b));
        let out = target::<U>(worker, step);
        for first in (0..LANES).step_by(CHUNK) {
            // SAFETY: all three are rows of the registers.
            unsafe {
                let (a, b) = (read_chunk(a, first), read_chunk(b, first));
                let mut new = [U::zeroed(); CHUNK];
                for lane in 0..CHUNK {
                    new[lane] = f(a[lane], b[lane]);
                }
                write_chunk(out, first, new);
            }
        }
        settle::<U>(worker, step);
    }
}

/// `dst` is `a` where `c` holds, else `b`.
pub(super) struct Choose<T>(PhantomData<T>);

impl<T: Word> Body for Choose<T> {
    #[inline(always)]
    unsafe fn run(worker: &mut Worker<'_>, step: &Step) {
        let (a, b) = (worker.row::<T>(step.a), worker.row::<T>(step.b));
        let (truth, out) = (worker.row::<u32>(step.c), target::<T>(worker, step));
        for first in (0..LANES).step_by(CHUNK) {
            // SAFETY: all four are rows of the registers.
            unsafe {
                let (a, b) = (read_chunk(a, first), read_chunk(b, first));
                let truth = read_chunk(truth, first);
                let mut new = [T::zeroed(); CHUNK];
                for lane in 0..CHUNK {
                    new[lane] = if truth[lane] != 0 { a[lane] } else { b[lane] };
                }
                write_chunk(out, first, new);
            }
        }
        settle::<T>(worker, step);
    }
}

/// `dst` is `a` times `b` plus `c`, rounded once.
pub(super) struct MulAdd<T>(PhantomData<T>);

impl<T: Word + Fused> Body for MulAdd<T> {
    #[inline(always)]
    unsafe fn run(worker: &mut Worker<'_>, step: &Step) {
        let (a, b) = (worker.row::<T>(step.a), worker.row::<T>(step.b));
        let (c, out) = (worker.row::<T>(step.c), target::<T>(worker, step));
        for first in (0..LANES).step_by(CHUNK) {
            // SAFETY: all four are rows of the registers.
            unsafe {
                let (a, b) = (read_chunk(a, first), read_chunk(b, first));
                let c = read_chunk(c, first);
                let mut new = [T::zeroed(); CHUNK];
                for lane in 0..CHUNK {
                    new[lane] = a[lane].fused(b[lane], c[lane]);
                }
                write_chunk(out, first, new);
            }
        }
        settle::<T>(worker, step);
    }
}

/// Floats with a multiply-add that rounds once.
trait Fused {
    fn fused(self, b: Self, c: Self) -> Self;
}

impl Fused for f32 {
    #[inline(always)]
    fn fused(self, b: Self, c: Self) -> Self {
        self.mul_add(b, c)
    }
}

impl Fused for f64 {
    #[inline(always)]
    fn fused(self, b: Self, c: Self) -> Self {
        self.mul_add(b, c)
    }
}

/// Whether the range in rows `a` to `a + 2` has a further number.
pub(super) struct MoreOfRange;

impl Body for MoreOfRange {
    #[inline(always)]
    unsafe fn run(worker: &mut Worker<'_>, step: &Step) {
        let out = target::<i32>(worker, step);
        let field = |n: u32| worker.row::<i32>(step.a + n);
        for first in (0..LANES).step_by(CHUNK) {
            // SAFETY: all four are rows of the registers.
            unsafe {
                let (next, end) = (read_chunk(field(0), first), read_chunk(field(1), first));
                let by = read_chunk(field(2), first);
                let mut new = [0; CHUNK];
                for lane in 0..CHUNK {
                    let up = by[lane] > 0 && next[lane] < end[lane];
                    let down = by[lane] <= 0 && next[lane] > end[lane];
                    new[lane] = i32::from(up | down);
                }
                write_chunk(out, first, new);
            }
        }
        settle::<i32>(worker, step);
    }
}

impl<T: Word, U: Word, F: Fn(T) -> U + Copy + 'static> Body for Costly1<T, U, F> {
    #[inline(always)]
    unsafe fn run(worker: &mut Worker<'_>, step: &Step) {
        let f = conjure::<F>();
        let (a, out) = (worker.row::<T>(step.a), worker.row::<U>(step.dst));
        for lane in each(worker.mask) {
            // SAFETY: both are rows of the registers.
            unsafe { *out.add(lane) = f(*a.add(lane)) };
        }
    }
}

impl<T: Word, U: Word, F: Fn(T, T) -> U + Copy + 'static> Body for Costly2<T, U, F> {
    #[inline(always)]
    unsafe fn run(worker: &mut Worker<'_>, step: &Step) {
        let f = conjure::<F>();
        let (a, b) = (worker.row::<T>(step.a), worker.row::<T>(step.b));
        let out = worker.row::<U>(step.dst);
        for lane in each(worker.mask) {
            // SAFETY: all three are rows of the registers.
            unsafe { *out.add(lane) = f(*a.add(lane), *b.add(lane)) };
        }
    }
}

/// Compiles the function that it is shown for vectors; nothing where there is none.
pub(super) struct Compile(pub(super) Vectors);

impl Visitor for Compile {
    type Output = Option<Function>;

    fn cheap1<T: Word, U: Word>(self, f: impl Fn(T) -> U + Copy + 'static) -> Self::Output {
        Some(cheap1(self.0, f))
    }
    fn cheap2<T: Word, U: Word>(self, f: impl Fn(T, T) -> U + Copy + 'static) -> Self::Output {
        Some(cheap2(self.0, f))
    }
    fn costly1<T: Word, U: Word>(self, f: impl Fn(T) -> U + Copy + 'static) -> Self::Output {
        Some(plain_costly1(f))
    }
    fn costly2<T: Word, U: Word>(self, f: impl Fn(T, T) -> U + Copy + 'static) -> Self::Output {
        Some(plain_costly2(f))
    }
    fn nothing(self) -> Self::Output {
        None
    }
}

fn cheap1<T: Word, U: Word, F: Fn(T) -> U + Copy + 'static>(vectors: Vectors, _: F) -> Function {
    compiled::<Cheap1<T, U, F>>(vectors)
}

fn cheap2<T: Word, U: Word, F: Fn(T, T) -> U + Copy + 'static>(vectors: Vectors, _: F) -> Function {
    compiled::<Cheap2<T, U, F>>(vectors)
}

fn plain_costly1<T: Word, U: Word, F: Fn(T) -> U + Copy + 'static>(_: F) -> Function {
    portable::<Costly1<T, U, F>>
}

fn plain_costly2<T: Word, U: Word, F: Fn(T, T) -> U + Copy + 'static>(_: F) -> Function {
    portable::<Costly2<T, U, F>>
}
