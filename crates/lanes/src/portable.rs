//! Lanes as plain arrays: correct everywhere, and what the compiler vectorises on targets whose
//! vector unit is part of the baseline.

use crate::frames::{EightLanes, Lanes};
use crate::instruction_set::{InstructionSet, Task};
use crate::vector::sealed::Sealed;
use crate::vector::{Float, Masked, Vector};

/// `N` lanes in an array; `FUSED` says whether multiply-adds round once.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub struct Array<const N: usize, const FUSED: bool>([f32; N]);

/// One lane in a register.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Scalar<F, const FUSED: bool>(F);

/// Eight lanes, multiply-adds in two roundings.
pub type Eight = Array<8, false>;
/// One lane, multiply-adds in two roundings.
pub type One = Scalar<f32, false>;

#[inline(always)]
fn mul_add<F: Float, const FUSED: bool>(a: F, b: F, c: F) -> F {
    if FUSED { a.fused(b, c) } else { a * b + c }
}

/// See [`Lanes::vectorize`]: where scalar multiply-adds are one instruction, if they are to be fused.
#[inline(always)]
fn run<const FUSED: bool>(task: impl Task) {
    match InstructionSet::widest().avx2() {
        Some(token) if FUSED => token.run(task),
        _ => plainly(task),
    }
}

#[inline(never)]
fn plainly(task: impl Task) {
    task.run();
}

#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

#[inline(always)]
fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// See [`Lanes::split_exponent`].
#[inline(always)]
fn split(value: f32) -> (f32, f32) {
    // Adding the distance from √½ to 1 before cutting the exponent off moves the fold from 1 to √½.
    const SQRT_HALF: u32 = 0x3f35_04f3;
    let shifted = value.to_bits().wrapping_sub(SQRT_HALF);
    let exponent = (shifted as i32) >> 23;
    let mantissa = f32::from_bits((shifted & 0x007f_ffff).wrapping_add(SQRT_HALF));
    (mantissa, exponent as f32)
}

/// See [`Lanes::inverse_sqrt_guess`].
#[inline(always)]
fn guess(value: f32) -> f32 {
    f32::from_bits(crate::inverse_sqrt::MAGIC.wrapping_sub(value.to_bits() >> 1))
}

macro_rules! elementwise {
    ($a:ident, $b:ident => $value:expr) => {{
        let mut out = $a.0;
        for (slot, other) in out.iter_mut().zip($b.0) {
            let ($a, $b) = (*slot, other);
            *slot = $value;
        }
        Self(out)
    }};
}

impl<const N: usize, const FUSED: bool> Sealed for Array<N, FUSED> {}

impl<const N: usize, const FUSED: bool> Vector for Array<N, FUSED> {
    type Scalar = f32;
    const WIDTH: usize = N;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self([value; N])
    }
    #[inline(always)]
    fn load(from: &[f32]) -> Self {
        let mut lanes = [0.0; N];
        lanes.copy_from_slice(&from[..N]);
        Self(lanes)
    }
    #[inline(always)]
    fn store(self, to: &mut [f32]) {
        to[..N].copy_from_slice(&self.0);
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        let a = self;
        elementwise!(a, other => a + other)
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        let a = self;
        elementwise!(a, other => a - other)
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        let a = self;
        elementwise!(a, other => a * other)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        let mut out = self.0;
        for slot in &mut out {
            *slot = slot.sqrt();
        }
        Self(out)
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        let mut out = self.0;
        for (lane, slot) in out.iter_mut().enumerate() {
            *slot = mul_add::<f32, FUSED>(*slot, factor.0[lane], addend.0[lane]);
        }
        Self(out)
    }
    #[inline(always)]
    fn neg_mul_add(self, factor: Self, addend: Self) -> Self {
        let mut out = self.0;
        for (lane, slot) in out.iter_mut().enumerate() {
            *slot = mul_add::<f32, FUSED>(-*slot, factor.0[lane], addend.0[lane]);
        }
        Self(out)
    }
}

impl<const N: usize, const FUSED: bool> Lanes for Array<N, FUSED> {
    type Points = Array<8, FUSED>;

    #[inline(always)]
    fn div(self, other: Self) -> Self {
        let a = self;
        elementwise!(a, other => a / other)
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        let a = self;
        elementwise!(a, other => larger(a, other))
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        let a = self;
        elementwise!(a, other => smaller(a, other))
    }
    #[inline(always)]
    fn less(self, other: Self) -> u32 {
        let mut mask = 0;
        for lane in 0..N {
            mask |= u32::from(self.0[lane] < other.0[lane]) << lane;
        }
        mask
    }
    #[inline(always)]
    fn less_or_equal(self, other: Self) -> u32 {
        let mut mask = 0;
        for lane in 0..N {
            mask |= u32::from(self.0[lane] <= other.0[lane]) << lane;
        }
        mask
    }
    #[inline(always)]
    fn split_exponent(self) -> (Self, Self) {
        let (mut mantissas, mut exponents) = ([0.0; N], [0.0; N]);
        for lane in 0..N {
            (mantissas[lane], exponents[lane]) = split(self.0[lane]);
        }
        (Self(mantissas), Self(exponents))
    }
    #[inline(always)]
    fn inverse_sqrt_guess(self) -> Self {
        let mut out = self.0;
        for slot in &mut out {
            *slot = guess(*slot);
        }
        Self(out)
    }
    #[inline(always)]
    fn running_sums(self) -> Self {
        let mut sums = self.0;
        let mut distance = 1;
        while distance < N {
            for lane in (distance..N).rev() {
                sums[lane] += sums[lane - distance];
            }
            distance *= 2;
        }
        Self(sums)
    }
    #[inline(always)]
    fn vectorize(task: impl Task) {
        run::<FUSED>(task);
    }
}

impl<const FUSED: bool> EightLanes for Array<8, FUSED> {
    #[inline(always)]
    fn transpose(rows: [Self; 8]) -> [Self; 8] {
        std::array::from_fn(|row| Self(std::array::from_fn(|lane| rows[lane].0[row])))
    }
    #[inline(always)]
    fn reverse(self) -> Self {
        Self(std::array::from_fn(|lane| self.0[7 - lane]))
    }
    #[inline(always)]
    fn interleave(a: Self, b: Self) -> [Self; 2] {
        let of = |n: usize| [a, b][n % 2].0[n / 2];
        [0, 8].map(|first| Self(std::array::from_fn(|lane| of(first + lane))))
    }
    #[inline(always)]
    fn deinterleave(pairs: [Self; 2]) -> [Self; 2] {
        let of = |n: usize| pairs[n / 8].0[n % 8];
        [0, 1].map(|part| Self(std::array::from_fn(|lane| of(2 * lane + part))))
    }
}

/// Which eight lanes compute the bits of [`Scalar`].
pub trait InPoints {
    type Points: EightLanes;
}

/// Registers where the fused lane is only chosen together with them.
impl InPoints for Scalar<f32, true> {
    #[cfg(target_arch = "x86_64")]
    type Points = crate::x86::Avx2F32;
    #[cfg(not(target_arch = "x86_64"))]
    type Points = Array<8, true>;
}

impl InPoints for Scalar<f32, false> {
    type Points = Array<8, false>;
}

impl<F: Float, const FUSED: bool> Sealed for Scalar<F, FUSED> {}

impl<F: Float, const FUSED: bool> Vector for Scalar<F, FUSED> {
    type Scalar = F;
    const WIDTH: usize = 1;

    #[inline(always)]
    fn splat(value: F) -> Self {
        Self(value)
    }
    #[inline(always)]
    fn load(from: &[F]) -> Self {
        Self(from[0])
    }
    #[inline(always)]
    fn store(self, to: &mut [F]) {
        to[0] = self.0;
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self(self.0 * other.0)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(self.0.root())
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        Self(mul_add::<F, FUSED>(self.0, factor.0, addend.0))
    }
    #[inline(always)]
    fn neg_mul_add(self, factor: Self, addend: Self) -> Self {
        Self(mul_add::<F, FUSED>(-self.0, factor.0, addend.0))
    }
}

impl<const FUSED: bool> Lanes for Scalar<f32, FUSED>
where
    Self: InPoints,
{
    type Points = <Self as InPoints>::Points;

    #[inline(always)]
    fn div(self, other: Self) -> Self {
        Self(self.0 / other.0)
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self(larger(self.0, other.0))
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self(smaller(self.0, other.0))
    }
    #[inline(always)]
    fn less(self, other: Self) -> u32 {
        u32::from(self.0 < other.0)
    }
    #[inline(always)]
    fn less_or_equal(self, other: Self) -> u32 {
        u32::from(self.0 <= other.0)
    }
    #[inline(always)]
    fn split_exponent(self) -> (Self, Self) {
        let (mantissa, exponent) = split(self.0);
        (Self(mantissa), Self(exponent))
    }
    #[inline(always)]
    fn inverse_sqrt_guess(self) -> Self {
        Self(guess(self.0))
    }
    #[inline(always)]
    fn running_sums(self) -> Self {
        self
    }
    #[inline(always)]
    fn vectorize(task: impl Task) {
        run::<FUSED>(task);
    }
}

impl<F: Float, const FUSED: bool> Masked for Scalar<F, FUSED> {
    type Mask = bool;

    #[inline(always)]
    unsafe fn gather_vectors(from: *const F, places: *const u32) -> [Self; 3] {
        // SAFETY: the caller promises one index, and three numbers from there on.
        unsafe {
            let from = from.add(*places as usize);
            [Self(*from), Self(*from.add(1)), Self(*from.add(2))]
        }
    }
    #[inline(always)]
    fn mul_add_where(self, factor: Self, addend: Self, mask: bool) -> Self {
        if mask {
            self.mul_add(factor, addend)
        } else {
            addend
        }
    }
    #[inline(always)]
    fn nearest(self) -> Self {
        Self(self.0.nearest())
    }
    #[inline(always)]
    fn reciprocal(self) -> Self {
        Self(self.0.reciprocal())
    }
    #[inline(always)]
    fn where_less(self, other: Self) -> bool {
        self.0 < other.0
    }
    #[inline(always)]
    fn keep(self, mask: bool) -> Self {
        Self(if mask { self.0 } else { F::default() })
    }
    #[inline(always)]
    fn sum(self) -> F {
        self.0
    }
    #[inline(always)]
    fn bits(mask: bool) -> u32 {
        u32::from(mask)
    }
}
