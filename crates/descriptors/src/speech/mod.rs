//! Speech cut for a recogniser: segments that are long enough, short enough, apart from each other and
//! with some room around them; and the texts that other programs read them from.

mod cut;
mod text;

pub use cut::{CutSettings, StepEnergies, cut};
pub use text::{Labelled, TextForm};
