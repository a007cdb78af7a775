//! One lane: correct everywhere, and what wider lanes are tested against.

use super::Lanes;
use crate::real::Real;

/// A number as a vector of one.
#[derive(Clone, Copy, Debug)]
pub struct Single<R>(R);

impl<R: Real> Lanes for Single<R> {
    type Scalar = R;
    type Mask = bool;
    const WIDTH: usize = 1;

    #[inline(always)]
    fn splat(value: R) -> Self {
        Self(value)
    }
    #[inline(always)]
    fn load(from: &[R]) -> Self {
        Self(from[0])
    }
    #[inline(always)]
    fn store(self, to: &mut [R]) {
        to[0] = self.0;
    }
    #[inline(always)]
    unsafe fn gather_vectors(from: *const R, places: *const u32) -> [Self; 3] {
        // SAFETY: the caller promises one index, and three numbers from there on.
        unsafe {
            let from = from.add(*places as usize);
            [Self(*from), Self(*from.add(1)), Self(*from.add(2))]
        }
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
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        Self(self.0 * factor.0 + addend.0)
    }
    #[inline(always)]
    fn neg_mul_add(self, factor: Self, addend: Self) -> Self {
        Self(addend.0 - self.0 * factor.0)
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
    fn root(self) -> Self {
        Self(self.0.root())
    }
    #[inline(always)]
    fn less(self, other: Self) -> bool {
        self.0 < other.0
    }
    #[inline(always)]
    fn keep(self, mask: bool) -> Self {
        Self(if mask { self.0 } else { R::default() })
    }
    #[inline(always)]
    fn sum(self) -> R {
        self.0
    }
    #[inline(always)]
    fn bits(mask: bool) -> u32 {
        u32::from(mask)
    }
}
