//! Sounds changed by way of their spectra, and sounds made from magnitudes alone.

pub(crate) mod griffin_lim;
mod time_stretch;

pub(crate) use griffin_lim::{CudaGriffinLim, GriffinLimWorkload};
pub use griffin_lim::{GriffinLim, spectral_convergence_db};
pub use time_stretch::{time_stretch, time_stretch_stream};
pub use warpsmith_signal::effect::{
    DenoiseSettings, Denoiser, NoiseLook, NoiseReduction, NoiseSearch, PitchShiftStream,
    StretchSettings, TimeStretchStream, pitch_shift,
};
