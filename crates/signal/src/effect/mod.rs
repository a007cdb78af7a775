//! Sounds changed by way of their spectra: slower, higher, cleaner. Each is a stream, and a signal in memory one that
//! arrives at once.

mod denoise;
mod phase_vocoder;
mod pitch_shift;
mod time_stretch;

pub use denoise::{DenoiseSettings, Denoiser, NoiseLook, NoiseReduction, NoiseSearch};
pub use pitch_shift::{PitchShiftStream, pitch_shift};
pub use time_stretch::{StretchSettings, TimeStretchStream};
