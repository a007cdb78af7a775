//! Constant-Q spectra: bins a semitone apart, each as sharp as it is high, by the method of
//! `librosa.cqt` 0.11: an octave's filters as sparse spectra over short transforms, and the signal at
//! half the rate for each octave down. A `gamma` above 0 widens low bins (variable Q).

mod cpu;
mod cuda;
mod stream;
mod workload;

pub use cpu::{ConstantQ, ConstantQSettings};
pub use cuda::{constant_q_in_place, constant_q_on_cuda};
pub use stream::ConstantQStream;
pub(crate) use workload::CONSTANT_Q;
