//! Vectors of floating-point numbers: what they all compute, and what masks add to it.
//!
//! The vectors of an instruction set have no name outside of this crate. Code that is generic over
//! them meets them only through [`InstructionSet::with_lanes`] and [`Float::with_vectors`], which hold
//! the set's token: that is why the functions here are safe.

use std::ops::{Add, Mul, Sub};

use crate::instruction_set::InstructionSet;
use crate::portable::Scalar;

/// Only this crate has vectors, because others rely on their layout.
pub(crate) mod sealed {
    pub trait Sealed {}
}

/// A vector of numbers.
pub trait Vector: sealed::Sealed + Copy + Send + Sync + 'static {
    /// What a lane holds.
    type Scalar: Float;
    /// Number of lanes.
    const WIDTH: usize;

    /// The same value in each lane.
    fn splat(value: Self::Scalar) -> Self;
    /// The first [`Vector::WIDTH`] values of `from`; panics where there are fewer.
    fn load(from: &[Self::Scalar]) -> Self;
    /// Writes all lanes to the start of `to`; panics where there is no room.
    fn store(self, to: &mut [Self::Scalar]);
    /// Sum.
    fn add(self, other: Self) -> Self;
    /// Difference.
    fn sub(self, other: Self) -> Self;
    /// Product.
    fn mul(self, other: Self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// `self · factor + addend`, rounded once where the type is fused.
    fn mul_add(self, factor: Self, addend: Self) -> Self;
    /// `addend − self · factor`, rounded once where the type is fused.
    fn neg_mul_add(self, factor: Self, addend: Self) -> Self;
}

/// Most lanes that any vector has; lists and arrays are padded to it.
pub const WIDEST: usize = 16;

/// Vectors some of whose lanes can be left out, and what lists of places in memory need.
pub trait Masked: Vector {
    /// One truth to a lane.
    type Mask: Copy;

    /// The first three of the four numbers that begin at `from[places[k]]`, for each `k`, one vector
    /// to a number. Which lane a `k` goes to is the same for the three, and otherwise arbitrary.
    ///
    /// Whole vectors of four are loaded and turned around in registers: a gather instruction takes
    /// one lane of one number at a time, and was slower here by half.
    ///
    /// # Safety
    /// `places` points to as many indices as there are lanes, and each is followed by three more
    /// numbers inside what `from` points to.
    unsafe fn gather_vectors(from: *const Self::Scalar, places: *const u32) -> [Self; 3];
    /// `self · factor + addend` where the mask holds, `addend` elsewhere, whatever the factors are
    /// there.
    fn mul_add_where(self, factor: Self, addend: Self, mask: Self::Mask) -> Self;
    /// The nearest whole numbers.
    fn nearest(self) -> Self;
    /// One over each lane, within 2 units in the last place.
    fn reciprocal(self) -> Self;
    /// Where `self < other`; false where either is NaN.
    fn where_less(self, other: Self) -> Self::Mask;
    /// The value where the mask holds, zero elsewhere, whatever the value is there.
    fn keep(self, mask: Self::Mask) -> Self;
    /// All lanes added up.
    fn sum(self) -> Self::Scalar;
    /// One bit to a lane.
    fn bits(mask: Self::Mask) -> u32;
    /// Writes `first + 4·lane` for each set bit to the start of `out`, in order, and says how many
    /// there were. `out` has room for [`WIDEST`]; what it holds after them is arbitrary.
    fn append(bits: u32, first: u32, out: &mut [u32]) -> usize {
        let (mut rest, mut count) = (bits, 0);
        while rest != 0 {
            out[count] = first + 4 * rest.trailing_zeros();
            count += 1;
            rest &= rest - 1;
        }
        count
    }
}

/// Work for [`Float::with_vectors`]. `run` must be `#[inline(always)]`, and so must everything with
/// vectors that it calls, or the vector instructions become function calls.
pub trait VectorTask<F: Float> {
    /// What it computes.
    type Output;
    /// Does it.
    fn run<V: Masked<Scalar = F>>(self) -> Self::Output;
}

/// `f32` or `f64`.
pub trait Float:
    Copy
    + Default
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + std::ops::Neg<Output = Self>
    + 'static
{
    /// `self · factor + addend`, rounded once.
    fn fused(self, factor: Self, addend: Self) -> Self;
    /// One over the value.
    fn reciprocal(self) -> Self;
    /// The square root.
    fn root(self) -> Self;
    /// The nearest whole number, ties to even.
    fn nearest(self) -> Self;
    /// Runs `task` compiled for `set`, with the set's vectors; [`InstructionSet::Portable`] has one lane.
    fn with_vectors<T: VectorTask<Self>>(set: InstructionSet, task: T) -> T::Output;
}

macro_rules! float {
    ($float:ident, $avx2:ident, $avx512:ident) => {
        impl Float for $float {
            #[inline(always)]
            fn fused(self, factor: Self, addend: Self) -> Self {
                self.mul_add(factor, addend)
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
            #[inline]
            fn with_vectors<T: VectorTask<Self>>(set: InstructionSet, task: T) -> T::Output {
                #[cfg(target_arch = "x86_64")]
                {
                    use crate::instruction_set::{HasAvx2, HasAvx512};
                    crate::features! {Avx2 function
                        fn in_avx2<T: VectorTask<$float>>(_: HasAvx2, task: T) -> T::Output {
                            task.run::<crate::x86::$avx2>()
                        }
                    }
                    crate::features! {Avx512 function
                        fn in_avx512<T: VectorTask<$float>>(_: HasAvx512, task: T) -> T::Output {
                            task.run::<crate::x86::$avx512>()
                        }
                    }
                    match set {
                        // SAFETY: the token was made by a detection of every feature that is enabled.
                        InstructionSet::Avx2(token) => return unsafe { in_avx2(token, task) },
                        // SAFETY: as above.
                        InstructionSet::Avx512(token) => return unsafe { in_avx512(token, task) },
                        InstructionSet::Portable => {}
                    }
                }
                let _ = set;
                task.run::<Scalar<$float, false>>()
            }
        }
    };
}
float!(f32, Avx2F32, Avx512F32);
float!(f64, Avx2F64, Avx512F64);
