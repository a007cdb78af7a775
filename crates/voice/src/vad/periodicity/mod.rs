//! Voice activity by periodicity: speech is what repeats itself at the pitch of a voice, and so do few
//! noises, however loud.
//!
//! A frame counts where the top of its normalised autocorrelation is three times as high as in the
//! recording's less periodic frames, within bounds. This looks at the whole signal. Breath and
//! hiss between vowels are filled by the bridging.

mod cpu;
mod cuda;
mod tops;
mod workload;

pub use cpu::PeriodicityVad;
pub use cuda::periodicity_vad_on_cuda;
pub(crate) use tops::{ArrivingTops, Periodicity};
pub(crate) use workload::PERIODICITY;
