//! Where sounds begin: the rise of the log-mel spectrum, and its peaks, as librosa 0.11 defines them.

mod cpu;
mod cuda;
mod workload;

pub use cpu::{OnsetDetector, OnsetStream, onset_frames};
pub use cuda::{onset_strength_in_place, onset_strength_on_cuda};
pub(crate) use workload::ONSET;
