//! Vectors of neighbours: lane `k` of a vector belongs to the `k`-th neighbour of a group.
//!
//! Obligation behind the unsafe blocks of this module: types of `x86` are used only inside
//! [`with_lanes`], which has seen their instructions.

mod single;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use single::Single;
#[cfg(target_arch = "x86_64")]
pub use x86::{Avx2F32, Avx2F64, Avx512F32, Avx512F64};

use crate::real::{Portable, Real};

/// Most lanes that any type has; lists and arrays are padded to it.
pub(crate) const WIDEST: usize = 16;

/// A vector of numbers.
pub trait Lanes: Copy {
    /// What a lane holds.
    type Scalar: Real;
    /// One truth to a lane.
    type Mask: Copy;
    /// Number of lanes.
    const WIDTH: usize;

    /// The same value in each lane.
    fn splat(value: Self::Scalar) -> Self;
    /// The first lanes of `from`; panics where there are fewer.
    fn load(from: &[Self::Scalar]) -> Self;
    /// Writes all lanes to the start of `to`; panics where there is no room.
    fn store(self, to: &mut [Self::Scalar]);
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
    /// The sum.
    fn add(self, other: Self) -> Self;
    /// The difference.
    fn sub(self, other: Self) -> Self;
    /// The product.
    fn mul(self, other: Self) -> Self;
    /// `self · factor + addend`.
    fn mul_add(self, factor: Self, addend: Self) -> Self;
    /// `addend − self · factor`.
    fn neg_mul_add(self, factor: Self, addend: Self) -> Self;
    /// `self · factor + addend` where the mask holds, `addend` elsewhere, whatever the factors are
    /// there.
    fn mul_add_where(self, factor: Self, addend: Self, mask: Self::Mask) -> Self;
    /// The nearest whole numbers.
    fn nearest(self) -> Self;
    /// One over each lane, within 2 units in the last place.
    fn reciprocal(self) -> Self;
    /// The square roots.
    fn root(self) -> Self;
    /// Where `self < other`; false where either is NaN.
    fn less(self, other: Self) -> Self::Mask;
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

/// Work that is compiled once for each kind of lanes. `run` must be `#[inline(always)]`, and so
/// must everything with lanes that it calls, or the vector instructions become function calls.
pub(crate) trait Task<R: Real> {
    type Output;
    fn run<L: Lanes<Scalar = R>>(self) -> Self::Output;
}

/// The instructions that a simulation uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Instructions {
    /// One number at a time.
    Scalar,
    /// 256-bit vectors.
    Avx2,
    /// 512-bit vectors.
    Avx512,
}

impl Instructions {
    /// The best that this machine has.
    pub fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
                return Self::Avx512;
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                return Self::Avx2;
            }
        }
        Self::Scalar
    }

    /// The better of the two that this machine has, so that what was asked for is never beyond it.
    pub fn at_most(self) -> Self {
        self.min(Self::best())
    }

    /// The name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }
}

/// Runs `task` with `instructions`, or with the best that the machine has where it lacks them.
#[inline]
pub(crate) fn with_lanes<R: Real, T: Task<R>>(instructions: Instructions, task: T) -> T::Output {
    match instructions.at_most() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `at_most` has seen the instructions.
        Instructions::Avx512 => unsafe { x86::in_avx512::<R, T>(task) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Instructions::Avx2 => unsafe { x86::in_avx2::<R, T>(task) },
        _ => task.run::<Portable<R>>(),
    }
}
