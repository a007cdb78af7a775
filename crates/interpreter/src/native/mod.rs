//! Kernels at native speed on the CPU: the interpreter's plan as steps over rows of 64 threads, each a
//! function that was compiled for this machine's instruction set, on the memory of the arguments itself.
//!
//! Invariants:
//! * results and findings are the interpreter's, bit for bit (of numbers that are none, the sign and the
//!   payload may differ): operations are the same functions, and lanes touch memory in the same order;
//! * threads run on several cores only where the plan says that they cannot meet;
//! * what has no step is executed by the interpreter's machine on the same registers; a kernel that does
//!   what neither can without copies of its arrays is interpreted as a whole.

#![allow(
    clippy::needless_range_loop,
    reason = "a lane is the same place in several rows, some of them behind pointers"
)]

mod address;
mod cells;
mod check;
mod code;
mod dense;
mod group;
mod launch;
mod memory;
mod place;
mod reuse;
mod search;
mod simplify;
mod step;
mod transfer;
mod worker;

pub use check::NativeDifference;
pub(super) use code::NativeCode;
pub use simplify::{Code, simplify};
