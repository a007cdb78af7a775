//! From signal to signal: filters, resampling, convolution, reverberation, levels and edges.

mod biquad;
mod convolution;
mod emphasis;
mod normalise;
pub(crate) mod resample;
mod reverb;
mod trim;
mod weighting;

pub use biquad::{Biquad, Cascade};
pub use convolution::Convolver;
pub use emphasis::{deemphasise, preemphasise};
pub use normalise::{LevelTarget, normalise};
pub(crate) use resample::{CudaResample, Decimation, Resample};
pub use resample::{Quality, Resampler};
pub use reverb::{Reverb, ReverbSettings};
pub use trim::{TrimSettings, trim};
pub use weighting::Weighting;
