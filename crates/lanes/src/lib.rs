//! Vectors whose lanes are *frames*: lane `f` of every vector belongs to frame `f` of a block.
//!
//! With frames in the lanes an FFT needs no shuffles, a mel filter is one multiply per weight, and
//! the `[bin, frame]` layout that users expect is a plain store. Nothing ever crosses lanes, so a
//! frame's bits do not depend on its neighbours, on its place in a block, or on how a file was cut. What has
//! the lags or filters of one frame in its lanes may let them cross.
//!
//! Invariant: all types compute a given sequence of operations to the same bits on one machine,
//! because a fused multiply-add is fused in every type or in none (see [`Level::detect`]).

mod exponential;
mod inverse_sqrt;
mod logarithm;
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use exponential::{erf, exp};
pub use inverse_sqrt::inverse_sqrt;
pub use logarithm::ln;
#[cfg(target_arch = "aarch64")]
pub use portable::EightFused;
pub use portable::{Eight, One, OneFused};
#[cfg(target_arch = "x86_64")]
pub use x86::{Avx2, Avx512};

/// A vector of `f32`, one lane to a frame.
pub trait Lanes: Copy + Send + Sync + 'static {
    /// Number of lanes.
    const WIDTH: usize;
    /// For a type of one lane, eight that compute the same bits; others have no use for it.
    type Points: EightLanes;

    /// The same value in each lane.
    fn splat(value: f32) -> Self;
    /// The first [`Lanes::WIDTH`] values of `from`; panics where there are fewer.
    fn load(from: &[f32]) -> Self;
    /// Writes all lanes to the start of `to`; panics where there is no room.
    fn store(self, to: &mut [f32]);
    /// The values in memory, lane by lane.
    fn floats(values: &[Self]) -> &[f32] {
        // SAFETY: every type is `WIDTH` f32 without padding, which any bytes make valid.
        unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values) / 4) }
    }
    /// As [`Lanes::floats`], to be written.
    fn floats_mut(values: &mut [Self]) -> &mut [f32] {
        // SAFETY: as for `floats`; the borrow is exclusive.
        unsafe {
            std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values) / 4)
        }
    }
    /// Sum.
    fn add(self, other: Self) -> Self;
    /// Difference.
    fn sub(self, other: Self) -> Self;
    /// Product.
    fn mul(self, other: Self) -> Self;
    /// Quotient.
    fn div(self, other: Self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// `self · factor + addend`, rounded once where the machine can.
    fn mul_add(self, factor: Self, addend: Self) -> Self;
    /// `addend − self · factor`, rounded once where the machine can.
    fn neg_mul_add(self, factor: Self, addend: Self) -> Self;
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

/// Work for [`Lanes::vectorize`]. Not a closure: `run` must be `#[inline(always)]`, and so must
/// everything with lanes that it calls, or the vector instructions become function calls.
pub trait Task {
    /// Does it.
    fn run(self);
}

/// Runs plain loops where the compiler may use the widest instructions of this machine. What they compute
/// has the same bits everywhere: nothing is fused or reordered that the code does not fuse or reorder.
pub fn with_widest(task: impl Task) {
    match Level::detect() {
        Level::Portable => task.run(),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => Avx2::vectorize(task),
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => Avx512::vectorize(task),
        #[cfg(target_arch = "aarch64")]
        Level::Neon => task.run(),
    }
}

/// The instructions that this machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Whatever the target guarantees, without fused multiply-add.
    Portable,
    /// Eight lanes with fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// Sixteen lanes with fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// Eight lanes, fused multiply-add guaranteed by the target.
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Level {
    /// The best that this machine has.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
                return Self::Avx512;
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                return Self::Avx2;
            }
            Self::Portable
        }
        #[cfg(target_arch = "aarch64")]
        {
            Self::Neon
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        {
            Self::Portable
        }
    }
}

/// Builds `Box<dyn Trait>` around `Engine<Lanes>` for the machine's widest lanes, or, with `single`,
/// for one lane: the same bits at the latency of one frame.
#[macro_export]
macro_rules! engine_for_this_machine {
    ($blocks:expr, $engine:ident :: $new:ident ( $($argument:expr),* )) => {{
        use $crate::Level;
        match (Level::detect(), $blocks) {
            #[cfg(target_arch = "x86_64")]
            (Level::Avx512, Blocks::Wide) => Box::new($engine::<$crate::Avx512>::$new($($argument),*)) as Box<_>,
            #[cfg(target_arch = "x86_64")]
            (Level::Avx2, Blocks::Wide) => Box::new($engine::<$crate::Avx2>::$new($($argument),*)) as Box<_>,
            #[cfg(target_arch = "x86_64")]
            (Level::Avx512 | Level::Avx2, Blocks::Single) => Box::new($engine::<$crate::OneFused>::$new($($argument),*)) as Box<_>,
            #[cfg(target_arch = "aarch64")]
            (Level::Neon, Blocks::Wide) => Box::new($engine::<$crate::EightFused>::$new($($argument),*)) as Box<_>,
            #[cfg(target_arch = "aarch64")]
            (Level::Neon, Blocks::Single) => Box::new($engine::<$crate::OneFused>::$new($($argument),*)) as Box<_>,
            (Level::Portable, Blocks::Wide) => Box::new($engine::<$crate::Eight>::$new($($argument),*)) as Box<_>,
            (Level::Portable, Blocks::Single) => Box::new($engine::<$crate::One>::$new($($argument),*)) as Box<_>,
        }
    }};
}

/// How many frames an engine takes at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// As many as the machine has lanes: throughput.
    Wide,
    /// One: latency, for streams.
    Single,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums_of_whole_numbers<V: Lanes>() {
        let values: [f32; 16] = std::array::from_fn(|n| ((n * n + 3) % 11) as f32);
        let mut sums = [0.0f32; 16];
        V::load(&values).running_sums().store(&mut sums);
        let mut sum = 0.0;
        for (lane, value) in values[..V::WIDTH].iter().enumerate() {
            sum += value;
            assert_eq!(sums[lane], sum, "lane {lane} of {}", V::WIDTH);
        }
    }

    #[test]
    fn running_sums_are_those_of_the_lanes_so_far() {
        sums_of_whole_numbers::<One>();
        sums_of_whole_numbers::<Eight>();
        #[cfg(target_arch = "x86_64")]
        match Level::detect() {
            Level::Portable => {}
            Level::Avx2 => sums_of_whole_numbers::<Avx2>(),
            Level::Avx512 => {
                sums_of_whole_numbers::<Avx2>();
                sums_of_whole_numbers::<Avx512>();
            }
        }
    }
}
