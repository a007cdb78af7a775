//! Formants: the resonances of the vocal tract, as the poles of a linear prediction of the signal at
//! twice the highest formant's rate, pre-emphasised and under a Gaussian window (Praat's method).
//!
//! The resampled signal keeps its band up to the very edge: a filter that falls off before it takes a
//! pole for the fall, and moves the formants. Frames lie where Praat's do.

mod cpu;
mod cuda;
mod stream;
mod workload;

pub use cpu::{Formant, FormantSettings, FormantTracker};
pub use cuda::formants_on_cuda;
pub use stream::FormantStream;
pub(crate) use workload::FORMANTS;
