//! Fundamental frequency: how many times a second the voice repeats itself.

mod difference;
mod pyin;
mod range;
mod viterbi;
mod yin;

pub use pyin::{Pyin, PyinSettings, PyinTrack};
pub use range::PitchRange;
pub use yin::Yin;
