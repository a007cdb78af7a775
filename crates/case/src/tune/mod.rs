//! The fastest choice of tunables: which points there are, which to try next, and which one wins.

mod compile_ahead;
mod forest;
mod gaussian_process;
mod race;
mod search;
mod space;
mod workbench;

pub use compile_ahead::CompileAhead;
pub use race::{Lane, race};
pub use search::Search;
pub use space::{Point, Space};
pub use workbench::{Attempt, BegunReference, Contender, Workbench};
