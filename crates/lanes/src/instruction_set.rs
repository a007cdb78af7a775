//! Instruction sets: which of them this machine has, and functions that are compiled for each.
//!
//! Invariants:
//! - a set is detected by the list of features that its functions enable, so that none is enabled
//!   without having been asked about;
//! - [`HasAvx2`] and [`HasAvx512`] are made by detection alone, and a function that is compiled for a
//!   set is called only by whoever holds the set's token.

use std::fmt;
use std::sync::OnceLock;

use crate::frames::LanesTask;
#[cfg(target_arch = "x86_64")]
use crate::x86::{Avx2F32, Avx512F32};

/// The features of each set, for detection (`detected`), functions (`function`, `functions`) and a test (`names`).
/// AVX-512 has all of AVX2.
#[doc(hidden)]
#[macro_export]
macro_rules! features {
    (Avx2 $use:ident $($rest:tt)*) => {
        $crate::features! { @$use ["avx2" "bmi1" "bmi2" "fma" "lzcnt" "popcnt"] $($rest)* }
    };
    (Avx512 $use:ident $($rest:tt)*) => {
        $crate::features! {
            @$use
            ["avx2" "bmi1" "bmi2" "fma" "lzcnt" "popcnt" "avx512f" "avx512bw" "avx512dq" "avx512vl"]
            $($rest)*
        }
    };
    (@detected [$($feature:tt)*]) => {
        $(std::arch::is_x86_feature_detected!($feature))&&*
    };
    (@names [$($feature:tt)*]) => {
        [$($feature),*]
    };
    (@function [$($feature:tt)*] $($item:tt)*) => {
        #[target_feature($(enable = $feature),*)]
        $($item)*
    };
    (@functions $features:tt $(
        $(#[$attribute:meta])*
        fn $name:ident($($parameters:tt)*) -> $output:ty $body:block
    )*) => {$(
        $crate::features! {
            @function $features
            $(#[$attribute])*
            #[inline]
            fn $name($($parameters)*) -> $output $body
        }
    )*};
}

/// What a token holds: nothing where a machine can have the set, and what cannot exist elsewhere.
#[cfg(target_arch = "x86_64")]
type Seen = ();
#[cfg(not(target_arch = "x86_64"))]
type Seen = std::convert::Infallible;

/// Proof that this machine has AVX2 and what comes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HasAvx2(Seen);

/// Proof that this machine has AVX-512 (F, BW, DQ and VL) and all of [`HasAvx2`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HasAvx512(Seen);

/// Work for [`InstructionSet::run`]. Not a closure: `run` must be `#[inline(always)]`, and so must
/// everything that it calls, or it is compiled without the instructions.
pub trait Task {
    /// Does it.
    fn run(self);
}

#[cfg(target_arch = "x86_64")]
features! {Avx2 function
    #[inline(never)]
    pub(crate) fn in_avx2(task: impl Task) {
        task.run();
    }
}

#[cfg(target_arch = "x86_64")]
features! {Avx512 function
    #[inline(never)]
    pub(crate) fn in_avx512(task: impl Task) {
        task.run();
    }
}

impl HasAvx2 {
    /// Runs `task` compiled for the set, and never inlines it.
    #[inline(always)]
    pub fn run(self, task: impl Task) {
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: `self` was made by a detection of every feature that the function enables.
            unsafe { in_avx2(task) }
        }
        #[cfg(not(target_arch = "x86_64"))]
        match (self.0, task) {}
    }

    /// Runs `task` with eight lanes.
    pub fn with_lanes<T: LanesTask>(self, task: T) -> T::Output {
        #[cfg(target_arch = "x86_64")]
        {
            task.run::<Avx2F32>()
        }
        #[cfg(not(target_arch = "x86_64"))]
        match (self.0, task) {}
    }
}

impl HasAvx512 {
    /// AVX2, which is part of the set.
    #[allow(clippy::unit_arg)] // Nothing on this target, and on others what cannot exist.
    pub fn avx2(self) -> HasAvx2 {
        HasAvx2(self.0)
    }

    /// Runs `task` compiled for the set, and never inlines it.
    #[inline(always)]
    pub fn run(self, task: impl Task) {
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: `self` was made by a detection of every feature that the function enables.
            unsafe { in_avx512(task) }
        }
        #[cfg(not(target_arch = "x86_64"))]
        match (self.0, task) {}
    }

    /// Runs `task` with sixteen lanes.
    pub fn with_lanes<T: LanesTask>(self, task: T) -> T::Output {
        #[cfg(target_arch = "x86_64")]
        {
            task.run::<Avx512F32>()
        }
        #[cfg(not(target_arch = "x86_64"))]
        match (self.0, task) {}
    }
}

/// A set of vector instructions that this machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstructionSet {
    /// What every CPU of the architecture has.
    Portable,
    /// 256-bit vectors with fused multiply-add.
    Avx2(HasAvx2),
    /// 512-bit vectors.
    Avx512(HasAvx512),
}

impl InstructionSet {
    /// The widest that this machine has.
    #[inline]
    pub fn widest() -> Self {
        static WIDEST: OnceLock<InstructionSet> = OnceLock::new();
        *WIDEST.get_or_init(|| {
            #[cfg(target_arch = "x86_64")]
            {
                if features!(Avx512 detected) {
                    return Self::Avx512(HasAvx512(()));
                }
                if features!(Avx2 detected) {
                    return Self::Avx2(HasAvx2(()));
                }
            }
            Self::Portable
        })
    }

    /// AVX2 where this machine has it.
    #[inline]
    pub fn up_to_avx2() -> Self {
        Self::widest().avx2().map_or(Self::Portable, Self::Avx2)
    }

    /// Every set that this machine has, narrowest first.
    pub fn present() -> impl Iterator<Item = Self> {
        let mut sets = vec![Self::Portable, Self::up_to_avx2(), Self::widest()];
        sets.dedup();
        sets.into_iter()
    }

    /// AVX2, where it is this set or part of it.
    #[inline]
    pub fn avx2(self) -> Option<HasAvx2> {
        match self {
            Self::Portable => None,
            Self::Avx2(token) => Some(token),
            Self::Avx512(token) => Some(token.avx2()),
        }
    }

    /// Runs `task` compiled for this set.
    #[inline(always)]
    pub fn run(self, task: impl Task) {
        match self {
            Self::Portable => task.run(),
            Self::Avx2(token) => token.run(task),
            Self::Avx512(token) => token.run(task),
        }
    }

    /// The name in parameters, tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2(_) => "avx2",
            Self::Avx512(_) => "avx512",
        }
    }
}

impl fmt::Display for InstructionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Runs plain loops where the compiler may use the widest instructions of this machine. What they compute
/// has the same bits everywhere: nothing is fused or reordered that the code does not fuse or reorder.
pub fn with_widest(task: impl Task) {
    InstructionSet::widest().run(task);
}

/// Defines a function that runs `body`, which must be `#[inline(always)]`, compiled for the
/// [`InstructionSet`] that is its first argument. `body` may take a constant, one to a set.
///
/// ```
/// warpsmith_lanes::for_each_set! {
///     /// Adds up the numbers.
///     fn sum[4, 8, 16] = sum_in(numbers: &[f32]) -> f32
/// }
///
/// #[inline(always)]
/// fn sum_in<const WIDTH: usize>(numbers: &[f32]) -> f32 {
///     let (vectors, rest) = numbers.as_chunks::<WIDTH>();
///     vectors.as_flattened().iter().chain(rest).sum()
/// }
///
/// for set in warpsmith_lanes::InstructionSet::present() {
///     assert_eq!(sum(set, &[1.0, 2.0, 3.0]), 6.0);
/// }
/// ```
#[macro_export]
macro_rules! for_each_set {
    (
        $(#[$attribute:meta])*
        $seen:vis fn $name:ident $([$portable:literal, $avx2:literal, $avx512:literal])? = $body:ident(
            $($argument:ident: $type:ty),* $(,)?
        ) $(-> $output:ty)?
    ) => {
        $(#[$attribute])*
        #[allow(clippy::too_many_arguments)] // One loop's operands; a struct would be unpacked at once.
        $seen fn $name(set: $crate::InstructionSet, $($argument: $type),*) $(-> $output)? {
            #[cfg(target_arch = "x86_64")]
            {
                $crate::features! {Avx2 function
                    #[allow(clippy::too_many_arguments)] // As above.
                    fn avx2(_: $crate::HasAvx2, $($argument: $type),*) $(-> $output)? {
                        $body$(::<$avx2>)?($($argument),*)
                    }
                }
                $crate::features! {Avx512 function
                    #[allow(clippy::too_many_arguments)] // As above.
                    fn avx512(_: $crate::HasAvx512, $($argument: $type),*) $(-> $output)? {
                        $body$(::<$avx512>)?($($argument),*)
                    }
                }
                match set {
                    // SAFETY: the token was made by a detection of every feature that is enabled.
                    $crate::InstructionSet::Avx512(token) => return unsafe { avx512(token, $($argument),*) },
                    // SAFETY: as above.
                    $crate::InstructionSet::Avx2(token) => return unsafe { avx2(token, $($argument),*) },
                    $crate::InstructionSet::Portable => {}
                }
            }
            let _ = set;
            $body$(::<$portable>)?($($argument),*)
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sets_of_this_machine_are_in_order_and_contain_each_other() {
        let sets: Vec<_> = InstructionSet::present().collect();
        assert!(sets.is_sorted() && sets[0] == InstructionSet::Portable);
        assert_eq!(sets.last(), Some(&InstructionSet::widest()));
        for set in &sets[1..] {
            assert!(set.avx2().is_some());
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn avx512_enables_all_of_avx2() {
        let avx2 = features!(Avx2 names);
        assert!(
            avx2.iter()
                .all(|name| features!(Avx512 names).contains(name))
        );
    }

    struct Count<'a>(&'a mut u32);

    impl Task for Count<'_> {
        #[inline(always)]
        fn run(self) {
            *self.0 += 1;
        }
    }

    #[test]
    fn every_set_runs_a_task_once() {
        let mut runs = 0;
        for set in InstructionSet::present() {
            set.run(Count(&mut runs));
        }
        assert_eq!(runs as usize, InstructionSet::present().count());
    }

    for_each_set! {
        /// The constant of the set.
        fn constant[1, 2, 3] = constant_of() -> usize
    }

    #[inline(always)]
    fn constant_of<const N: usize>() -> usize {
        N
    }

    #[test]
    fn a_set_has_its_own_constant() {
        for set in InstructionSet::present() {
            let expected = match set {
                InstructionSet::Portable => 1,
                InstructionSet::Avx2(_) => 2,
                InstructionSet::Avx512(_) => 3,
            };
            assert_eq!(constant(set), expected, "{set}");
        }
    }
}
