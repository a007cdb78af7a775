//! What is checked of a pair, and how it fared.

mod arguments;
mod compiled;
mod executed;
mod gradients;
mod keep;
mod level;
mod machine_code;
mod ptx_items;
mod values;
mod verifier;
mod warp;

pub use compiled::{CompileReport, Toolchain, compile_batch};
pub use executed::{Execution, Executor, launch_shape};
pub use keep::{Keep, UnknownColumn};
pub use level::{Check, Level, UnknownLevel, Verification};
pub use verifier::{PrepareError, Tools, Verifier};
pub use warp::{WarpOracle, WarpText};

pub(crate) use verifier::BATCH;
