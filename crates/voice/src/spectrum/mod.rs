//! From signals to short-time spectra and back.

pub(crate) mod istft;
mod prefetch;
mod stft;

pub(crate) use istft::IstftWorkload;
pub use istft::{Istft, istft_on_cuda};
pub(crate) use stft::SPECTROGRAM;
pub use stft::{Density, Stft, StftStream, spectrogram_in_place, spectrogram_on_cuda};
