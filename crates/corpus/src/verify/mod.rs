//! What is checked of a pair, and how it fared.

mod arguments;
mod compiled;
mod executed;
mod level;
mod races;
mod verifier;
mod warp;

pub use compiled::{CompileReport, Toolchain, compile_batch};
pub use executed::{Execution, execute, launch_shape};
pub use level::{Check, Level, UnknownLevel, Verification};
pub use races::race_free;
pub use verifier::{PrepareError, Tools, Verifier};
pub use warp::{WarpOracle, WarpText};
