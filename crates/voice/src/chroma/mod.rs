//! Chroma: the power of each pitch class, whatever the octave, with the filters of
//! `librosa.filters.chroma` 0.11 at a tuning of A = 440 Hz.

mod cpu;
mod cuda;
mod tuning;
mod workload;

pub use cpu::{Chroma, ChromaStream, PITCH_CLASSES};
pub use cuda::{chroma_in_place, chroma_on_cuda};
pub use tuning::{estimate_tuning, estimate_tuning_by, estimate_tuning_of};
pub(crate) use workload::CHROMA;
