//! Pitch by autocorrelation and a path through candidates, as Boersma (1993) describes and Praat does
//! it: frequency, voicing, and the ratio of harmonics to noise.

mod cpu;
mod cuda;
mod levels_cuda;
mod path_cuda;
mod precise;
mod stream;
mod workload;

pub use cpu::{PraatPitch, PraatSettings, PraatTrack};
pub use cuda::praat_on_cuda;
pub(crate) use levels_cuda::CudaLevels;
pub(crate) use path_cuda::{CudaPraatPath, Found, PathTable};
pub use precise::PrecisePraat;
pub use stream::{PraatLook, PraatStream};
pub(crate) use workload::PRAAT;
