//! Sounds changed by way of their spectra: slower, higher, cleaner, or made from magnitudes alone.

mod denoise;
pub(crate) mod griffin_lim;
mod phase_vocoder;
mod pitch_shift;
mod time_stretch;

pub use denoise::{DenoiseSettings, Denoiser};
pub(crate) use griffin_lim::{CudaGriffinLim, GriffinLimWorkload};
pub use griffin_lim::{GriffinLim, spectral_convergence_db};
pub use pitch_shift::pitch_shift;
pub use time_stretch::{StretchSettings, time_stretch};
