//! Vectors whose lanes are *frames*: lane `f` of every vector belongs to frame `f` of a block.
//!
//! With frames in the lanes an FFT needs no shuffles, a mel filter is one multiply per weight, and
//! the `[bin, frame]` layout that users expect is a plain store. Nothing ever crosses lanes, so a
//! frame's bits do not depend on its neighbours, on its place in a block, or on how a file was cut. What has
//! the lags or filters of one frame in its lanes may let them cross.
//!
//! Invariant: all types that [`InstructionSet::widest`] chooses compute a given sequence of operations to
//! the same bits on one machine, because a fused multiply-add is fused in each of them or in none.

use crate::instruction_set::{InstructionSet, Task};
use crate::portable::{Array, Scalar};
use crate::vector::Vector;

/// A vector of `f32`, one lane to a frame.
pub trait Lanes: Vector<Scalar = f32> {
    /// For a type of one lane, eight that compute the same bits; others have no use for it.
    type Points: EightLanes;

    /// The values in memory, lane by lane.
    fn floats(values: &[Self]) -> &[f32] {
        const { assert!(size_of::<Self>() == 4 * Self::WIDTH) };
        // SAFETY: the trait is sealed; every type is made of f32, which any bytes make valid, and as long as
        // its lanes, so that there is no padding.
        unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values) / 4) }
    }
    /// As [`Lanes::floats`], to be written.
    fn floats_mut(values: &mut [Self]) -> &mut [f32] {
        const { assert!(size_of::<Self>() == 4 * Self::WIDTH) };
        // SAFETY: as for `floats`; the borrow is exclusive.
        unsafe {
            std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values) / 4)
        }
    }
    /// Quotient.
    fn div(self, other: Self) -> Self;
    /// The larger; `other` where `self` is NaN, which is what the x86 instruction does.
    fn max(self, other: Self) -> Self;
    /// The smaller; `other` where `self` is NaN.
    fn min(self, other: Self) -> Self;
    /// One bit to a lane, set where `self < other`.
    fn less(self, other: Self) -> u32;
    /// One bit to a lane, set where `self ≤ other`.
    fn less_or_equal(self, other: Self) -> u32;
    /// Splits positive normal numbers into `mantissa · 2^exponent` with the mantissa in
    /// `[√½, √2)`.
    fn split_exponent(self) -> (Self, Self);
    /// `1/√x` of positive normal numbers, within 4 %.
    fn inverse_sqrt_guess(self) -> Self;
    /// Every lane and all before it, added up: neighbours first, then neighbouring pairs, and so on.
    fn running_sums(self) -> Self;
    /// Runs `task` where the compiler may use this type's instructions, and never inlines it: a part that
    /// several tasks share is a task itself, or every one of them, of every type, compiles a copy of it.
    fn vectorize(task: impl Task);
}

/// Eight lanes that can change places.
pub trait EightLanes: Lanes {
    /// Lane `j` of row `i` becomes lane `i` of row `j`.
    fn transpose(rows: [Self; 8]) -> [Self; 8];
    /// The last lane first.
    fn reverse(self) -> Self;
    /// Lanes of the two in turn: the first eight and the last eight of them.
    fn interleave(a: Self, b: Self) -> [Self; 2];
    /// The inverse of [`EightLanes::interleave`].
    fn deinterleave(pairs: [Self; 2]) -> [Self; 2];
}

/// How many frames an engine takes at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// As many as the machine has lanes: throughput.
    Wide,
    /// One: latency, for streams.
    Single,
}

/// Work for one kind of lanes. It runs without their instructions: its loops are tasks of
/// [`Lanes::vectorize`].
pub trait LanesTask {
    /// What it computes.
    type Output;
    /// Does it.
    fn run<V: Lanes>(self) -> Self::Output;
}

/// Whether the target itself has fused multiply-adds.
pub(crate) const FUSED: bool = cfg!(target_arch = "aarch64");

impl InstructionSet {
    /// Runs `task` with the lanes of this set, or with one lane that computes the same bits.
    pub fn with_lanes<T: LanesTask>(self, blocks: Blocks, task: T) -> T::Output {
        match (self, blocks) {
            (Self::Portable, Blocks::Wide) => task.run::<Array<8, FUSED>>(),
            (Self::Portable, Blocks::Single) => task.run::<Scalar<f32, FUSED>>(),
            (Self::Avx2(token), Blocks::Wide) => token.with_lanes(task),
            (Self::Avx512(token), Blocks::Wide) => token.with_lanes(task),
            (Self::Avx2(_) | Self::Avx512(_), Blocks::Single) => task.run::<Scalar<f32, true>>(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct RunningSums;

    impl LanesTask for RunningSums {
        type Output = ();

        fn run<V: Lanes>(self) {
            let values: [f32; 16] = std::array::from_fn(|n| ((n * n + 3) % 11) as f32);
            let mut sums = [0.0f32; 16];
            V::load(&values).running_sums().store(&mut sums);
            let mut sum = 0.0;
            for (lane, value) in values[..V::WIDTH].iter().enumerate() {
                sum += value;
                assert_eq!(sums[lane], sum, "lane {lane} of {}", V::WIDTH);
            }
        }
    }

    #[test]
    fn running_sums_are_those_of_the_lanes_so_far() {
        for set in InstructionSet::present() {
            for blocks in [Blocks::Wide, Blocks::Single] {
                set.with_lanes(blocks, RunningSums);
            }
        }
    }
}
