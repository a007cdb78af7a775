//! Which vector instructions the loops are compiled to.
//!
//! The loops are written once, over arrays, without fused multiply-adds; each level compiles the
//! same text. Invariant: every level computes the same bits, because nothing is reordered or fused.

use serde::{Deserialize, Serialize};

/// A set of vector instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Simd {
    /// Whatever the target guarantees.
    Portable,
    /// Eight lanes.
    Avx2,
    /// Sixteen lanes.
    Avx512,
}

/// Work for [`Simd::run`]. Not a closure: `run` must be `#[inline(always)]`, and so must everything
/// that it calls, or the loops are compiled without the instructions.
pub(crate) trait Task {
    fn run(self);
}

impl Simd {
    /// The best that this machine has.
    pub fn detect() -> Self {
        [Self::Avx512, Self::Avx2]
            .into_iter()
            .find(|level| level.is_available())
            .unwrap_or(Self::Portable)
    }

    /// Whether this machine has it.
    pub fn is_available(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }

    /// This level where the machine has it, else the best that it has.
    pub(crate) fn or_available(self) -> Self {
        if self.is_available() {
            self
        } else {
            Self::detect()
        }
    }

    /// Runs `task` with these instructions. Levels come from [`Simd::or_available`].
    #[inline]
    pub(crate) fn run(self, task: impl Task) {
        match self {
            Self::Portable => task.run(),
            // SAFETY: engines keep only levels that passed `or_available`.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { in_avx2(task) },
            // SAFETY: engines keep only levels that passed `or_available`.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => unsafe { in_avx512(task) },
            #[cfg(not(target_arch = "x86_64"))]
            _ => task.run(),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn in_avx2(task: impl Task) {
    task.run();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
fn in_avx512(task: impl Task) {
    task.run();
}
