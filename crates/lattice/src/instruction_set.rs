//! Which vector instructions the CPU code is compiled to.
//!
//! Each hot loop is written once and compiled once per set. Rust never fuses or reorders
//! floating-point operations on its own, so all of them give the same bits.

use std::fmt;

/// A set of vector instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InstructionSet {
    /// What every CPU of the architecture has.
    Portable,
    /// 256-bit vectors with fused multiply-add.
    Avx2,
    /// 512-bit vectors.
    Avx512,
}

impl InstructionSet {
    /// Every set, narrowest first.
    pub const ALL: [Self; 3] = [Self::Portable, Self::Avx2, Self::Avx512];

    /// The widest that this CPU has.
    pub fn widest() -> Self {
        Self::ALL
            .into_iter()
            .rfind(|set| set.is_present())
            .unwrap_or(Self::Portable)
    }

    /// Whether this CPU has it.
    pub fn is_present(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => {
                std::arch::is_x86_feature_detected!("avx2")
                    && std::arch::is_x86_feature_detected!("fma")
                    && std::arch::is_x86_feature_detected!("bmi2")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                Self::Avx2.is_present()
                    && std::arch::is_x86_feature_detected!("avx512f")
                    && std::arch::is_x86_feature_detected!("avx512bw")
                    && std::arch::is_x86_feature_detected!("avx512dq")
                    && std::arch::is_x86_feature_detected!("avx512vl")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx2 | Self::Avx512 => false,
        }
    }

    /// This set where the CPU has it, else the widest narrower one that it has.
    pub fn or_narrower(self) -> Self {
        self.min(Self::widest())
    }
}

impl fmt::Display for InstructionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        })
    }
}

/// Defines a function that runs `$body` compiled for the set named by its first argument.
macro_rules! for_each_set {
    ($(#[$doc:meta])* $seen:vis fn $name:ident[$portable:literal, $avx2:literal, $avx512:literal] = $body:ident($($argument:ident: $type:ty),* $(,)?)) => {
        $(#[$doc])*
        #[allow(clippy::too_many_arguments)] // One loop's operands; a struct would be unpacked at once.
        $seen fn $name(set: $crate::InstructionSet, $($argument: $type),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
                #[allow(clippy::too_many_arguments)] // As above.
                fn avx2($($argument: $type),*) {
                    $body::<$avx2>($($argument),*);
                }
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
                #[allow(clippy::too_many_arguments)] // As above.
                fn avx512($($argument: $type),*) {
                    $body::<$avx512>($($argument),*);
                }
                match set.or_narrower() {
                    // SAFETY: `or_narrower` returns a set that this CPU has.
                    $crate::InstructionSet::Avx512 => return unsafe { avx512($($argument),*) },
                    // SAFETY: as above.
                    $crate::InstructionSet::Avx2 => return unsafe { avx2($($argument),*) },
                    $crate::InstructionSet::Portable => {}
                }
            }
            let _ = set;
            $body::<$portable>($($argument),*);
        }
    };
}
pub(crate) use for_each_set;
