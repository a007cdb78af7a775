//! The live view: what is known now, on a terminal.

mod cells;
mod dialogs;
mod figures;
mod gpu_page;
mod gpu_table;
mod keys;
mod layout;
mod plot;
mod process_list;
mod process_table;
mod run;
mod snapshot;
mod view;

pub use keys::{Action, press};
pub use layout::{SMALLEST, draw};
pub use run::{ScreenOptions, Source, run};
pub use snapshot::snapshot_text;
pub use view::{Focus, Page, ProcessKey, Question, SortBy, ViewState};
