//! A signal for a spectrogram without phases: Griffin and Lim's alternation, with the momentum of
//! Perraudin, Balazs and Søndergaard (2013).

mod cpu;
mod cuda;
mod workload;

pub use cpu::{GriffinLim, spectral_convergence_db};
pub(crate) use cuda::CudaGriffinLim;
pub use cuda::griffin_lim_on_cuda;
pub(crate) use workload::GriffinLimWorkload;
