//! The live view: what is known now, on a terminal.

mod figures;
mod layout;
mod run;
mod snapshot;

pub use layout::{ViewState, draw};
pub use run::{ScreenOptions, Source, run};
pub use snapshot::snapshot_text;
