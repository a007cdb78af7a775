//! Executes scalar operations over the active lanes.
//!
//! What the operations are says [`super::operations`]; [`zero_divisors`] tells the machine in which lanes
//! an integer is divided by zero.

use warpsmith_lanes::{InstructionSet, Task};

use super::instruction::{Binary, Class, Unary};
use super::lanes::{ALL, Cell, LANES, Mask, Registers, Word, each, spread};
use super::operations::{self, Visitor};
use warpsmith_ir::Comparison;
use warpsmith_ir::half::round_half;
use warpsmith_ir::types::Scalar;

/// Writes `new` where the mask says.
#[inline(always)]
fn blend<U: Word>(m: Mask, out: &mut [U; LANES], new: &[U; LANES]) {
    if m == ALL {
        *out = *new;
    } else if size_of::<U>() == 4 {
        let lanes = spread(m);
        let out: &mut [u32; LANES] = bytemuck::cast_mut(out);
        let new: &[u32; LANES] = bytemuck::cast_ref(new);
        for i in 0..LANES {
            out[i] = (new[i] & lanes[i]) | (out[i] & !lanes[i]);
        }
    } else {
        for i in 0..LANES {
            if m >> i & 1 == 1 {
                out[i] = new[i];
            }
        }
    }
}

/// A cheap function of every lane.
#[inline(always)]
fn map1<T: Word, U: Word>(r: &mut Registers, m: Mask, dst: Cell, a: Cell, f: impl Fn(T) -> U) {
    // Straight into the row, which most results have to themselves; else through a copy.
    if m == ALL
        && let Some((out, a, _)) = r.beside::<T, U>(dst, a, a)
    {
        for i in 0..LANES {
            out[i] = f(a[i]);
        }
        return;
    }
    let a = r.row::<T>(a);
    let mut new = [U::zeroed(); LANES];
    for i in 0..LANES {
        new[i] = f(a[i]);
    }
    blend(m, r.row_mut::<U>(dst), &new);
}

/// A costly function, of the active lanes alone.
#[inline(always)]
fn call1<T: Word, U: Word>(r: &mut Registers, m: Mask, dst: Cell, a: Cell, f: impl Fn(T) -> U) {
    let a = *r.row::<T>(a);
    let out = r.row_mut::<U>(dst);
    for lane in each(m) {
        out[lane] = f(a[lane]);
    }
}

/// A cheap function of every lane of two cells.
#[inline(always)]
fn map2<T: Word, U: Word>(
    r: &mut Registers,
    m: Mask,
    (dst, a, b): (Cell, Cell, Cell),
    f: impl Fn(T, T) -> U,
) {
    if m == ALL
        && let Some((out, a, b)) = r.beside::<T, U>(dst, a, b)
    {
        for i in 0..LANES {
            out[i] = f(a[i], b[i]);
        }
        return;
    }
    let (a, b) = (r.row::<T>(a), r.row::<T>(b));
    let mut new = [U::zeroed(); LANES];
    for i in 0..LANES {
        new[i] = f(a[i], b[i]);
    }
    blend(m, r.row_mut::<U>(dst), &new);
}

/// A cheap function of every lane of three cells.
#[inline(always)]
fn map3<T: Word>(
    r: &mut Registers,
    m: Mask,
    dst: Cell,
    (a, b, c): (Cell, Cell, Cell),
    f: impl Fn(T, T, T) -> T,
) {
    let (a, b, c) = (r.row::<T>(a), r.row::<T>(b), r.row::<T>(c));
    let mut new = [T::zeroed(); LANES];
    for i in 0..LANES {
        new[i] = f(a[i], b[i], c[i]);
    }
    blend(m, r.row_mut::<T>(dst), &new);
}

/// A costly function, of the active lanes alone.
#[inline(always)]
fn call2<T: Word, U: Word>(
    r: &mut Registers,
    m: Mask,
    (dst, a, b): (Cell, Cell, Cell),
    f: impl Fn(T, T) -> U,
) {
    let (a, b) = (*r.row::<T>(a), *r.row::<T>(b));
    let out = r.row_mut::<U>(dst);
    for lane in each(m) {
        out[lane] = f(a[lane], b[lane]);
    }
}

/// Copies a row under the mask.
#[inline]
pub(super) fn copy(r: &mut Registers, m: Mask, wide: bool, dst: Cell, src: Cell) {
    if wide {
        map1::<u64, u64>(r, m, dst, src, |x| x);
    } else {
        map1::<u32, u32>(r, m, dst, src, |x| x);
    }
}

/// `dst` is `a` where `cond` holds, else `b`.
#[inline]
pub(super) fn select(
    r: &mut Registers,
    m: Mask,
    wide: bool,
    dst: Cell,
    cond: Cell,
    ab: (Cell, Cell),
) {
    if wide {
        let truth = r.truth(cond);
        let (a, b) = (*r.row::<u64>(ab.0), *r.row::<u64>(ab.1));
        let out = r.row_mut::<u64>(dst);
        for i in 0..LANES {
            if m >> i & 1 == 1 {
                out[i] = if truth >> i & 1 == 1 { a[i] } else { b[i] };
            }
        }
    } else {
        let (a, b, truth) = (r.row::<u32>(ab.0), r.row::<u32>(ab.1), r.row::<u32>(cond));
        let mut new = [0; LANES];
        for i in 0..LANES {
            new[i] = if truth[i] != 0 { a[i] } else { b[i] };
        }
        blend(m, r.row_mut::<u32>(dst), &new);
    }
}

/// [`mul_add`], compiled for the processor's own instruction.
struct MulAdd<'a> {
    r: &'a mut Registers,
    m: Mask,
    wide: bool,
    dst: Cell,
    c: (Cell, Cell, Cell),
}

impl Task for MulAdd<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { r, m, wide, dst, c } = self;
        match wide {
            true => map3::<f64>(r, m, dst, c, f64::mul_add),
            false => map3::<f32>(r, m, dst, c, f32::mul_add),
        }
    }
}

/// `dst = a * b + c`, rounded once.
pub(super) fn mul_add(r: &mut Registers, m: Mask, wide: bool, dst: Cell, c: (Cell, Cell, Cell)) {
    let task = MulAdd { r, m, wide, dst, c };
    match InstructionSet::widest().avx2() {
        Some(avx2) => avx2.run(task),
        None => task.run(),
    }
}

/// Runs an operation over the lanes of a mask.
struct OverLanes<'a> {
    r: &'a mut Registers,
    m: Mask,
    c: (Cell, Cell, Cell),
}

impl Visitor for OverLanes<'_> {
    type Output = ();

    #[inline(always)]
    fn cheap1<T: Word, U: Word>(self, f: impl Fn(T) -> U + Copy + 'static) {
        let (dst, a, _) = self.c;
        map1(self.r, self.m, dst, a, f);
    }
    #[inline(always)]
    fn cheap2<T: Word, U: Word>(self, f: impl Fn(T, T) -> U + Copy + 'static) {
        map2(self.r, self.m, self.c, f);
    }
    #[inline(always)]
    fn costly1<T: Word, U: Word>(self, f: impl Fn(T) -> U + Copy + 'static) {
        let (dst, a, _) = self.c;
        call1(self.r, self.m, dst, a, f);
    }
    #[inline(always)]
    fn costly2<T: Word, U: Word>(self, f: impl Fn(T, T) -> U + Copy + 'static) {
        call2(self.r, self.m, self.c, f);
    }
    #[inline(always)]
    fn nothing(self) {}
}

/// What most instructions are, compiled for registers twice as wide: sums, products and quotients, which
/// every processor rounds alike.
struct CommonBinary<'a> {
    r: &'a mut Registers,
    m: Mask,
    op: Binary,
    half: bool,
    c: (Cell, Cell, Cell),
}

impl Task for CommonBinary<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { r, m, op, half, c } = self;
        match (op, half) {
            (Binary::Add, false) => map2::<f32, f32>(r, m, c, |a, b| a + b),
            (Binary::Sub, false) => map2::<f32, f32>(r, m, c, |a, b| a - b),
            (Binary::Mul, false) => map2::<f32, f32>(r, m, c, |a, b| a * b),
            (_, false) => map2::<f32, f32>(r, m, c, |a, b| a / b),
            (Binary::Add, true) => map2::<f32, f32>(r, m, c, |a, b| round_half(a + b)),
            (Binary::Sub, true) => map2::<f32, f32>(r, m, c, |a, b| round_half(a - b)),
            (Binary::Mul, true) => map2::<f32, f32>(r, m, c, |a, b| round_half(a * b)),
            (_, true) => map2::<f32, f32>(r, m, c, |a, b| round_half(a / b)),
        }
    }
}

/// `dst = a op b`.
pub(super) fn binary(r: &mut Registers, m: Mask, op: Binary, ty: Scalar, c: (Cell, Cell, Cell)) {
    if matches!(ty, Scalar::F32 | Scalar::F16)
        && matches!(op, Binary::Add | Binary::Sub | Binary::Mul | Binary::Div)
        && let Some(avx2) = InstructionSet::widest().avx2()
    {
        let half = ty == Scalar::F16;
        return avx2.run(CommonBinary { r, m, op, half, c });
    }
    operations::binary(OverLanes { r, m, c }, op, ty);
}

/// `dst = op a`.
pub(super) fn unary(r: &mut Registers, m: Mask, op: Unary, ty: Scalar, dst: Cell, a: Cell) {
    let c = (dst, a, a);
    operations::unary(OverLanes { r, m, c }, op, ty);
}

/// `dst` answers a question about `a`.
pub(super) fn classify(r: &mut Registers, m: Mask, class: Class, ty: Scalar, dst: Cell, a: Cell) {
    let c = (dst, a, a);
    operations::classify(OverLanes { r, m, c }, class, ty);
}

/// `dst = a < b` and the like.
pub(super) fn compare(
    r: &mut Registers,
    m: Mask,
    op: Comparison,
    ty: Scalar,
    c: (Cell, Cell, Cell),
) {
    operations::compare(OverLanes { r, m, c }, op, ty);
}

/// `dst` is `src` as another type.
pub(super) fn cast(r: &mut Registers, m: Mask, from: Scalar, to: Scalar, dst: Cell, src: Cell) {
    let c = (dst, src, src);
    operations::cast(OverLanes { r, m, c }, from, to);
}

/// The active lanes in which an integer divisor is zero.
pub(super) fn zero_divisors(r: &Registers, m: Mask, ty: Scalar, b: Cell) -> Mask {
    let zero = |lane: usize| r.bits(b, ty, lane) == 0;
    (0..LANES)
        .filter(|lane| m >> lane & 1 == 1 && zero(*lane))
        .fold(0, |mask, lane| mask | 1 << lane)
}
