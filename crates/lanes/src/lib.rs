//! Vector instruction sets: one detection, one dispatch, and vectors that exist only where their
//! instructions do.
//!
//! [`InstructionSet`] says what this machine has and runs plain loops compiled for it ([`with_widest`],
//! [`for_each_set`]). [`Lanes`] are vectors of audio frames, [`Masked`] vectors of either precision.
//! [`prefetch`] is the one instruction that every set has in the same way.

mod engine;
mod exponential;
mod frames;
mod instruction_set;
mod inverse_sqrt;
mod logarithm;
mod portable;
mod prefetch;
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

#[doc(hidden)]
pub use engine::{Chosen, EngineLanes};
pub use exponential::{erf, exp};
pub use frames::{Blocks, EightLanes, Lanes, LanesTask};
pub use instruction_set::{HasAvx2, HasAvx512, InstructionSet, Task, with_widest};
pub use inverse_sqrt::inverse_sqrt;
pub use logarithm::ln;
pub use portable::{Eight, One};
pub use prefetch::prefetch;
pub use vector::{Float, Masked, Vector, VectorTask, WIDEST};
