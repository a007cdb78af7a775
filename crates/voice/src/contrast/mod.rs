//! Spectral contrast: how far the tops of an octave stand above its bottoms, in decibels, as
//! `librosa.feature.spectral_contrast` 0.11 defines it.
//!
//! Tops and bottoms are each kept within 80 dB of the loudest of the signal: this looks at all of it. Bottoms that
//! lie far below the loudest bin are those of double precision on the CPU, as in librosa.

mod cpu;
mod cuda;
mod precise;
mod stream;
mod workload;

pub use cpu::{CONTRAST_BANDS, ContrastSettings, LoudestLevels, SpectralContrast};
pub use cuda::contrast_on_cuda;
pub use stream::ContrastStream;
pub(crate) use workload::CONTRAST;
