//! Short-time spectra as `[bin, frame]` matrices: complex, power or magnitude.
//!
//! Output buffers belong to the caller: a page fault per output page costs more than the transform.

mod cpu;
mod cuda;
mod stream;
mod workload;

pub use cpu::{Density, Stft};
pub use cuda::{spectrogram_in_place, spectrogram_on_cuda};
pub use stream::StftStream;
pub(crate) use workload::SPECTROGRAM;
