//! From signal to signal: filters, resampling, convolution, reverberation, levels and edges.

mod biquad;
mod convolution;
mod emphasis;
mod normalise;
mod polyphase;
mod resample;
mod reverb;
mod trim;
mod weighting;
mod windowed_sinc;

pub use biquad::{Biquad, Cascade};
pub use convolution::Convolver;
pub use emphasis::{deemphasise, preemphasise};
pub use normalise::{LevelTarget, normalise};
pub use resample::{Quality, Resampler};
pub use reverb::{Reverb, ReverbSettings};
pub use trim::{TrimSettings, trim};
pub use weighting::Weighting;
