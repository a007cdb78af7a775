//! Lanes as plain arrays: correct everywhere, and what the compiler vectorises on targets whose
//! vector unit is part of the baseline.

use super::{EightLanes, Lanes, Task};

/// `N` lanes in an array; `FUSED` says whether multiply-adds round once.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub struct Array<const N: usize, const FUSED: bool>([f32; N]);

/// One lane in a register.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Scalar<const FUSED: bool>(f32);

/// Eight lanes, multiply-adds in two roundings.
pub type Eight = Array<8, false>;
/// Eight lanes, multiply-adds in one rounding.
#[allow(
    dead_code,
    reason = "used on targets that guarantee fused multiply-add"
)]
#[cfg_attr(not(target_arch = "aarch64"), allow(unreachable_pub))] // Only there a machine's widest.
pub type EightFused = Array<8, true>;
/// One lane, multiply-adds in two roundings.
pub type One = Scalar<false>;
/// One lane, multiply-adds in one rounding.
pub type OneFused = Scalar<true>;

#[inline(always)]
fn fused<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// See [`Lanes::vectorize`].
#[inline(always)]
fn run<const FUSED: bool>(task: impl Task) {
    #[cfg(target_arch = "x86_64")]
    if FUSED {
        super::x86::with_fma(task);
        return;
    }
    plainly(task);
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
    f32::from_bits(super::inverse_sqrt::MAGIC.wrapping_sub(value.to_bits() >> 1))
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

impl<const N: usize, const FUSED: bool> Lanes for Array<N, FUSED> {
    const WIDTH: usize = N;
    type Points = Array<8, FUSED>;

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
    fn div(self, other: Self) -> Self {
        let a = self;
        elementwise!(a, other => a / other)
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
            *slot = fused::<FUSED>(*slot, factor.0[lane], addend.0[lane]);
        }
        Self(out)
    }
    #[inline(always)]
    fn neg_mul_add(self, factor: Self, addend: Self) -> Self {
        let mut out = self.0;
        for (lane, slot) in out.iter_mut().enumerate() {
            *slot = fused::<FUSED>(-*slot, factor.0[lane], addend.0[lane]);
        }
        Self(out)
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
impl InPoints for Scalar<true> {
    #[cfg(target_arch = "x86_64")]
    type Points = super::x86::Avx2;
    #[cfg(not(target_arch = "x86_64"))]
    type Points = Array<8, true>;
}

impl InPoints for Scalar<false> {
    type Points = Array<8, false>;
}

impl<const FUSED: bool> Lanes for Scalar<FUSED>
where
    Self: InPoints,
{
    const WIDTH: usize = 1;
    type Points = <Self as InPoints>::Points;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self(value)
    }
    #[inline(always)]
    fn load(from: &[f32]) -> Self {
        Self(from[0])
    }
    #[inline(always)]
    fn store(self, to: &mut [f32]) {
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
    fn div(self, other: Self) -> Self {
        Self(self.0 / other.0)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(self.0.sqrt())
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        Self(fused::<FUSED>(self.0, factor.0, addend.0))
    }
    #[inline(always)]
    fn neg_mul_add(self, factor: Self, addend: Self) -> Self {
        Self(fused::<FUSED>(-self.0, factor.0, addend.0))
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
