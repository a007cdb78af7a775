//! Executes scalar operations over the active lanes.
//!
//! Invariant: no input panics. Integer arithmetic wraps as two's complement; a zero divisor of an
//! integer gives zero here, and [`zero_divisors`] tells the machine which lanes had one.

use warpsmith_lanes::{InstructionSet, Task};

use super::half::{round_bfloat16, round_half};
use super::instruction::{Binary, Class, Unary};
use super::lanes::{ALL, Cell, LANES, Mask, Registers, Word, each, spread};
use super::special;
use warpsmith_compiler::Scalar;
use warpsmith_compiler::ir::Comparison;

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

macro_rules! float_operations {
    ($binary:ident, $unary:ident, $classify:ident, $t:ty, $special:ident) => {
        #[inline(always)]
        fn $binary(
            r: &mut Registers,
            m: Mask,
            op: Binary,
            c: (Cell, Cell, Cell),
            round: impl Fn($t) -> $t,
        ) {
            match op {
                Binary::Add => map2::<$t, $t>(r, m, c, |a, b| round(a + b)),
                Binary::Sub => map2::<$t, $t>(r, m, c, |a, b| round(a - b)),
                Binary::Mul => map2::<$t, $t>(r, m, c, |a, b| round(a * b)),
                Binary::Div => map2::<$t, $t>(r, m, c, |a, b| round(a / b)),
                Binary::FloorDiv => call2::<$t, $t>(r, m, c, |a, b| round((a / b).floor())),
                Binary::Mod => call2::<$t, $t>(r, m, c, |a, b| round(a % b)),
                Binary::Min => map2::<$t, $t>(r, m, c, <$t>::min),
                Binary::Max => map2::<$t, $t>(r, m, c, <$t>::max),
                Binary::Pow => call2::<$t, $t>(r, m, c, |a, b| round(a.powf(b))),
                Binary::Atan2 => call2::<$t, $t>(r, m, c, |a, b| round(a.atan2(b))),
                Binary::CopySign => map2::<$t, $t>(r, m, c, <$t>::copysign),
                // The front end gives these to integers only.
                Binary::And | Binary::Or | Binary::Xor | Binary::Shl | Binary::Shr => {}
            }
        }

        #[inline(always)]
        fn $unary(
            r: &mut Registers,
            m: Mask,
            op: Unary,
            dst: Cell,
            a: Cell,
            round: impl Fn($t) -> $t,
        ) {
            match op {
                Unary::Neg => map1::<$t, $t>(r, m, dst, a, |x| -x),
                Unary::Abs => map1::<$t, $t>(r, m, dst, a, <$t>::abs),
                Unary::Sign => map1::<$t, $t>(r, m, dst, a, |x| if x < 0.0 { -1.0 } else { 1.0 }),
                Unary::Step => map1::<$t, $t>(r, m, dst, a, |x| if x < 0.0 { 1.0 } else { 0.0 }),
                Unary::NonZero => {
                    map1::<$t, $t>(r, m, dst, a, |x| if x == 0.0 { 0.0 } else { 1.0 })
                }
                Unary::Sqrt | Unary::Length => map1::<$t, $t>(r, m, dst, a, |x| round(x.sqrt())),
                Unary::Cbrt => call1::<$t, $t>(r, m, dst, a, |x| round(x.cbrt())),
                Unary::Sin => call1::<$t, $t>(r, m, dst, a, |x| round(x.sin())),
                Unary::Cos => call1::<$t, $t>(r, m, dst, a, |x| round(x.cos())),
                Unary::Tan => call1::<$t, $t>(r, m, dst, a, |x| round(x.tan())),
                // Rounding noise beyond 1 is forgiven.
                Unary::Asin => {
                    call1::<$t, $t>(r, m, dst, a, |x| round(x.max(-1.0).min(1.0).asin()))
                }
                Unary::Acos => {
                    call1::<$t, $t>(r, m, dst, a, |x| round(x.max(-1.0).min(1.0).acos()))
                }
                Unary::Atan => call1::<$t, $t>(r, m, dst, a, |x| round(x.atan())),
                Unary::Sinh => call1::<$t, $t>(r, m, dst, a, |x| round(x.sinh())),
                Unary::Cosh => call1::<$t, $t>(r, m, dst, a, |x| round(x.cosh())),
                Unary::Tanh => call1::<$t, $t>(r, m, dst, a, |x| round(x.tanh())),
                Unary::Exp => call1::<$t, $t>(r, m, dst, a, |x| round(x.exp())),
                Unary::Log => call1::<$t, $t>(r, m, dst, a, |x| round(x.ln())),
                Unary::Log2 => call1::<$t, $t>(r, m, dst, a, |x| round(x.log2())),
                Unary::Log10 => call1::<$t, $t>(r, m, dst, a, |x| round(x.log10())),
                Unary::Erf => {
                    call1::<$t, $t>(r, m, dst, a, |x| round(libm::erf(f64::from(x)) as $t))
                }
                Unary::Erfc => {
                    call1::<$t, $t>(r, m, dst, a, |x| round(libm::erfc(f64::from(x)) as $t))
                }
                Unary::ErfInv => {
                    call1::<$t, $t>(r, m, dst, a, |x| round(special::erfinv(f64::from(x)) as $t))
                }
                Unary::ErfcInv => {
                    call1::<$t, $t>(
                        r,
                        m,
                        dst,
                        a,
                        |x| round(special::erfcinv(f64::from(x)) as $t),
                    )
                }
                Unary::Floor => call1::<$t, $t>(r, m, dst, a, <$t>::floor),
                Unary::Ceil => call1::<$t, $t>(r, m, dst, a, <$t>::ceil),
                Unary::Round => call1::<$t, $t>(r, m, dst, a, |x| round(x.round())),
                Unary::Rint => call1::<$t, $t>(r, m, dst, a, <$t>::round_ties_even),
                Unary::Trunc => call1::<$t, $t>(r, m, dst, a, <$t>::trunc),
                Unary::Frac => call1::<$t, $t>(r, m, dst, a, |x| round(x - x.trunc())),
                // The front end gives these to integers only.
                Unary::Invert | Unary::BitCount | Unary::Pcg => {}
            }
        }

        #[inline(always)]
        fn $classify(r: &mut Registers, m: Mask, class: Class, dst: Cell, a: Cell) {
            match class {
                Class::Nan => map1::<$t, i32>(r, m, dst, a, |x| i32::from(x.is_nan())),
                Class::Inf => map1::<$t, i32>(r, m, dst, a, |x| i32::from(x.is_infinite())),
                Class::Finite => map1::<$t, i32>(r, m, dst, a, |x| i32::from(x.is_finite())),
            }
        }
    };
}
float_operations!(binary_f32, unary_f32, classify_f32, f32, f32);
float_operations!(binary_f64, unary_f64, classify_f64, f64, f64);

macro_rules! integer_operations {
    ($binary:ident, $unary:ident, $t:ty, $bits:expr) => {
        #[inline(always)]
        fn $binary(
            r: &mut Registers,
            m: Mask,
            op: Binary,
            c: (Cell, Cell, Cell),
            wrap: impl Fn($t) -> $t,
        ) {
            #[allow(unused_comparisons)]
            let floored = |a: $t, b: $t| {
                let quotient = a.checked_rem(b).map_or(0, |_| a.wrapping_div(b));
                let inexact = b != 0 && a.wrapping_rem(b) != 0;
                if inexact && ((a < 0) != (b < 0)) {
                    quotient.wrapping_sub(1)
                } else {
                    quotient
                }
            };
            let div = |a: $t, b: $t| if b == 0 { 0 } else { a.wrapping_div(b) };
            let rem = |a: $t, b: $t| if b == 0 { 0 } else { a.wrapping_rem(b) };
            match op {
                Binary::Add => map2::<$t, $t>(r, m, c, |a, b| wrap(a.wrapping_add(b))),
                Binary::Sub => map2::<$t, $t>(r, m, c, |a, b| wrap(a.wrapping_sub(b))),
                Binary::Mul => map2::<$t, $t>(r, m, c, |a, b| wrap(a.wrapping_mul(b))),
                Binary::Div => call2::<$t, $t>(r, m, c, |a, b| wrap(div(a, b))),
                Binary::FloorDiv => call2::<$t, $t>(r, m, c, |a, b| wrap(floored(a, b))),
                Binary::Mod => call2::<$t, $t>(r, m, c, |a, b| wrap(rem(a, b))),
                Binary::Min => map2::<$t, $t>(r, m, c, <$t>::min),
                Binary::Max => map2::<$t, $t>(r, m, c, <$t>::max),
                Binary::And => map2::<$t, $t>(r, m, c, |a, b| a & b),
                Binary::Or => map2::<$t, $t>(r, m, c, |a, b| a | b),
                Binary::Xor => map2::<$t, $t>(r, m, c, |a, b| a ^ b),
                Binary::Shl => map2::<$t, $t>(r, m, c, |a, b| wrap(a.wrapping_shl(b as u32))),
                Binary::Shr => map2::<$t, $t>(r, m, c, |a, b| wrap(a.wrapping_shr(b as u32))),
                // The front end gives these to floats only.
                Binary::Pow | Binary::Atan2 | Binary::CopySign => {}
            }
        }

        #[inline(always)]
        #[allow(unused_comparisons)]
        fn $unary(
            r: &mut Registers,
            m: Mask,
            op: Unary,
            dst: Cell,
            a: Cell,
            wrap: impl Fn($t) -> $t,
        ) {
            match op {
                Unary::Neg => map1::<$t, $t>(r, m, dst, a, |x| wrap(x.wrapping_neg())),
                Unary::Abs => map1::<$t, $t>(r, m, dst, a, |x| {
                    wrap(if x < 0 { x.wrapping_neg() } else { x })
                }),
                Unary::Sign => map1::<$t, $t>(r, m, dst, a, |x| {
                    if x < 0 { (0 as $t).wrapping_sub(1) } else { 1 }
                }),
                Unary::Step => map1::<$t, $t>(r, m, dst, a, |x| <$t>::from(x < 0)),
                Unary::NonZero => map1::<$t, $t>(r, m, dst, a, |x| <$t>::from(x != 0)),
                Unary::Invert => map1::<$t, $t>(r, m, dst, a, |x| wrap(!x)),
                Unary::Pcg => map1::<$t, $t>(r, m, dst, a, |x| special::pcg(x as u32) as $t),
                // Floats only; `BitCount` changes the type and is handled by the caller.
                _ => {}
            }
        }
    };
}
integer_operations!(binary_i32, unary_i32, i32, 32);
integer_operations!(binary_u32, unary_u32, u32, 32);
integer_operations!(binary_i64, unary_i64, i64, 64);
integer_operations!(binary_u64, unary_u64, u64, 64);

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
    match ty {
        Scalar::F32 => binary_f32(r, m, op, c, |x| x),
        Scalar::F64 => binary_f64(r, m, op, c, |x| x),
        Scalar::F16 => binary_f32(r, m, op, c, round_half),
        Scalar::BF16 => binary_f32(r, m, op, c, round_bfloat16),
        Scalar::I8 => binary_i32(r, m, op, c, |x| i32::from(x as i8)),
        Scalar::I16 => binary_i32(r, m, op, c, |x| i32::from(x as i16)),
        Scalar::U8 => binary_u32(r, m, op, c, |x| u32::from(x as u8)),
        Scalar::U16 => binary_u32(r, m, op, c, |x| u32::from(x as u16)),
        Scalar::U32 => binary_u32(r, m, op, c, |x| x),
        Scalar::I64 => binary_i64(r, m, op, c, |x| x),
        Scalar::U64 => binary_u64(r, m, op, c, |x| x),
        Scalar::Bool => binary_i32(r, m, op, c, |x| i32::from(x != 0)),
        _ => binary_i32(r, m, op, c, |x| x),
    }
}

/// `dst = op a`.
pub(super) fn unary(r: &mut Registers, m: Mask, op: Unary, ty: Scalar, dst: Cell, a: Cell) {
    if op == Unary::BitCount {
        return bit_count(r, m, ty, dst, a);
    }
    match ty {
        Scalar::F32 => unary_f32(r, m, op, dst, a, |x| x),
        Scalar::F64 => unary_f64(r, m, op, dst, a, |x| x),
        Scalar::F16 => unary_f32(r, m, op, dst, a, round_half),
        Scalar::BF16 => unary_f32(r, m, op, dst, a, round_bfloat16),
        Scalar::I8 => unary_i32(r, m, op, dst, a, |x| i32::from(x as i8)),
        Scalar::I16 => unary_i32(r, m, op, dst, a, |x| i32::from(x as i16)),
        Scalar::U8 => unary_u32(r, m, op, dst, a, |x| u32::from(x as u8)),
        Scalar::U16 => unary_u32(r, m, op, dst, a, |x| u32::from(x as u16)),
        Scalar::U32 => unary_u32(r, m, op, dst, a, |x| x),
        Scalar::I64 => unary_i64(r, m, op, dst, a, |x| x),
        Scalar::U64 => unary_u64(r, m, op, dst, a, |x| x),
        _ => unary_i32(r, m, op, dst, a, |x| x),
    }
}

fn bit_count(r: &mut Registers, m: Mask, ty: Scalar, dst: Cell, a: Cell) {
    match ty {
        Scalar::I64 | Scalar::U64 => map1::<u64, i32>(r, m, dst, a, |x| x.count_ones() as i32),
        Scalar::I8 => map1::<u32, i32>(r, m, dst, a, |x| (x & 0xff).count_ones() as i32),
        Scalar::I16 => map1::<u32, i32>(r, m, dst, a, |x| (x & 0xffff).count_ones() as i32),
        _ => map1::<u32, i32>(r, m, dst, a, |x| x.count_ones() as i32),
    }
}

/// `dst` answers a question about `a`.
pub(super) fn classify(r: &mut Registers, m: Mask, class: Class, ty: Scalar, dst: Cell, a: Cell) {
    match ty {
        Scalar::F64 => classify_f64(r, m, class, dst, a),
        _ => classify_f32(r, m, class, dst, a),
    }
}

/// `dst = a < b` and the like.
pub(super) fn compare(
    r: &mut Registers,
    m: Mask,
    op: Comparison,
    ty: Scalar,
    c: (Cell, Cell, Cell),
) {
    match ty {
        Scalar::F32 | Scalar::F16 | Scalar::BF16 => compare_as::<f32>(r, m, op, c),
        Scalar::F64 => compare_as::<f64>(r, m, op, c),
        Scalar::I64 => compare_as::<i64>(r, m, op, c),
        Scalar::U64 => compare_as::<u64>(r, m, op, c),
        Scalar::U8 | Scalar::U16 | Scalar::U32 => compare_as::<u32>(r, m, op, c),
        _ => compare_as::<i32>(r, m, op, c),
    }
}

fn compare_as<T: Word>(r: &mut Registers, m: Mask, op: Comparison, c: (Cell, Cell, Cell)) {
    match op {
        Comparison::Equal => map2::<T, i32>(r, m, c, |a, b| i32::from(a == b)),
        Comparison::NotEqual => map2::<T, i32>(r, m, c, |a, b| i32::from(a != b)),
        Comparison::Less => map2::<T, i32>(r, m, c, |a, b| i32::from(a < b)),
        Comparison::LessEqual => map2::<T, i32>(r, m, c, |a, b| i32::from(a <= b)),
        Comparison::Greater => map2::<T, i32>(r, m, c, |a, b| i32::from(a > b)),
        Comparison::GreaterEqual => map2::<T, i32>(r, m, c, |a, b| i32::from(a >= b)),
    }
}

/// The active lanes in which an integer divisor is zero.
pub(super) fn zero_divisors(r: &Registers, m: Mask, ty: Scalar, b: Cell) -> Mask {
    let zero = |lane: usize| r.bits(b, ty, lane) == 0;
    (0..LANES)
        .filter(|lane| m >> lane & 1 == 1 && zero(*lane))
        .fold(0, |mask, lane| mask | 1 << lane)
}

macro_rules! cast_from {
    ($r:ident, $m:ident, $to:ident, $dst:ident, $src:ident, $t:ty) => {
        match $to {
            Scalar::F32 => map1::<$t, f32>($r, $m, $dst, $src, |x| x as f32),
            Scalar::F64 => map1::<$t, f64>($r, $m, $dst, $src, |x| x as f64),
            Scalar::F16 => map1::<$t, f32>($r, $m, $dst, $src, |x| round_half(x as f32)),
            Scalar::BF16 => map1::<$t, f32>($r, $m, $dst, $src, |x| round_bfloat16(x as f32)),
            Scalar::I8 => map1::<$t, i32>($r, $m, $dst, $src, |x| i32::from(x as i32 as i8)),
            Scalar::I16 => map1::<$t, i32>($r, $m, $dst, $src, |x| i32::from(x as i32 as i16)),
            Scalar::U8 => map1::<$t, u32>($r, $m, $dst, $src, |x| u32::from(x as i64 as u8)),
            Scalar::U16 => map1::<$t, u32>($r, $m, $dst, $src, |x| u32::from(x as i64 as u16)),
            Scalar::U32 => map1::<$t, u32>($r, $m, $dst, $src, |x| x as i64 as u32),
            Scalar::I64 => map1::<$t, i64>($r, $m, $dst, $src, |x| x as i64),
            Scalar::U64 => map1::<$t, u64>($r, $m, $dst, $src, |x| x as i128 as u64),
            Scalar::Bool => map1::<$t, i32>($r, $m, $dst, $src, |x| i32::from(x != (0 as $t))),
            _ => map1::<$t, i32>($r, $m, $dst, $src, |x| x as i32),
        }
    };
}

/// `dst` is `src` as another type.
pub(super) fn cast(r: &mut Registers, m: Mask, from: Scalar, to: Scalar, dst: Cell, src: Cell) {
    match from {
        Scalar::F32 | Scalar::F16 | Scalar::BF16 => cast_from!(r, m, to, dst, src, f32),
        Scalar::F64 => cast_from!(r, m, to, dst, src, f64),
        Scalar::I64 => cast_from!(r, m, to, dst, src, i64),
        Scalar::U64 => cast_from!(r, m, to, dst, src, u64),
        Scalar::U8 | Scalar::U16 | Scalar::U32 => cast_from!(r, m, to, dst, src, u32),
        _ => cast_from!(r, m, to, dst, src, i32),
    }
}
