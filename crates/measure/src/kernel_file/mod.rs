//! A kernel from a file as a target: what its PTX says it takes, what the user gives it, a launch.

mod argument;
mod launch;
mod ptx_entry;
mod symbol;

pub use argument::{BadArgument, Direction, Fill, KernelArgument, Scalar};
pub use launch::{KernelFileError, KernelLaunch};
pub use ptx_entry::{PtxEntry, PtxParameter, entries};
pub use symbol::{is_entry_of, pointees, written_name};
