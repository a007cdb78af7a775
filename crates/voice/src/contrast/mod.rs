//! Spectral contrast: how far the tops of an octave stand above its bottoms, in decibels, as
//! `librosa.feature.spectral_contrast` 0.11 defines it.
//!
//! Tops and bottoms are each kept within 80 dB of the loudest of the signal: this looks at all of it.

mod cpu;
mod cuda;
mod stream;
mod workload;

pub use cpu::{CONTRAST_BANDS, ContrastSettings, LoudestLevels, SpectralContrast};
pub use cuda::contrast_on_cuda;
pub use stream::ContrastStream;
pub(crate) use workload::CONTRAST;
