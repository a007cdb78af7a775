//! Sounds changed by way of their spectra: slower, higher, cleaner, or made from magnitudes alone.

mod denoise;
pub(crate) mod griffin_lim;
mod phase_vocoder;
mod pitch_shift;
mod time_stretch;

pub use denoise::{DenoiseSettings, Denoiser, NoiseLook, NoiseReduction, NoiseSearch};
pub(crate) use griffin_lim::{CudaGriffinLim, GriffinLimWorkload};
pub use griffin_lim::{GriffinLim, spectral_convergence_db};
pub use pitch_shift::{PitchShiftStream, pitch_shift};
pub use time_stretch::{StretchSettings, TimeStretchStream, time_stretch};
