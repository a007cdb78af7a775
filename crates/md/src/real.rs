//! The two precisions: what a simulation needs of a number.

use std::fmt::{Debug, Display};
use std::ops::{Add, AddAssign, Mul, Neg, Sub};

use bytemuck::Pod;

#[cfg(target_arch = "x86_64")]
use crate::lanes::{Avx2F32, Avx2F64, Avx512F32, Avx512F64};
use crate::lanes::{Lanes, Single};

/// `f32` or `f64`.
pub trait Real:
    Pod
    + PartialOrd
    + Default
    + Debug
    + Display
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + AddAssign
{
    /// What the type is called, in tables and files.
    const NAME: &'static str;
    /// Its smallest step at one.
    const EPSILON: f64;
    /// Sixteen or eight lanes.
    #[cfg(target_arch = "x86_64")]
    #[doc(hidden)]
    type Avx512: Lanes<Scalar = Self>;
    /// Eight or four lanes.
    #[cfg(target_arch = "x86_64")]
    #[doc(hidden)]
    type Avx2: Lanes<Scalar = Self>;

    /// The nearest value of this type.
    fn of(value: f64) -> Self;
    /// The value, exactly.
    fn wide(self) -> f64;
    /// Bits that rise with a non-negative value; those of NaN lie above all others.
    fn rising_bits(self) -> u64;
    /// One over the value.
    fn reciprocal(self) -> Self;
    /// The square root.
    fn root(self) -> Self;
    /// The nearest whole number, ties to even.
    fn nearest(self) -> Self;
    /// The largest whole number that is not above the value.
    fn below(self) -> Self;
}

macro_rules! real {
    ($float:ty, $avx512:ty, $avx2:ty) => {
        impl Real for $float {
            const NAME: &'static str = stringify!($float);
            const EPSILON: f64 = <$float>::EPSILON as f64;
            #[cfg(target_arch = "x86_64")]
            type Avx512 = $avx512;
            #[cfg(target_arch = "x86_64")]
            type Avx2 = $avx2;

            #[inline(always)]
            fn of(value: f64) -> Self {
                value as $float
            }
            #[inline(always)]
            fn wide(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn rising_bits(self) -> u64 {
                u64::from(self.to_bits())
            }
            #[inline(always)]
            fn reciprocal(self) -> Self {
                1.0 / self
            }
            #[inline(always)]
            fn root(self) -> Self {
                self.sqrt()
            }
            #[inline(always)]
            fn nearest(self) -> Self {
                self.round_ties_even()
            }
            #[inline(always)]
            fn below(self) -> Self {
                self.floor()
            }
        }
    };
}
real!(f32, Avx512F32, Avx2F32);
real!(f64, Avx512F64, Avx2F64);

/// Lanes of this type where the machine has no vector unit that we know.
pub(crate) type Portable<R> = Single<R>;
