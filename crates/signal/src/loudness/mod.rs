//! How loud a programme is to listeners.

mod k_weighting;
mod programme;
mod true_peak;

pub(crate) use programme::IntegratedMeter;
pub use programme::{Loudness, LoudnessMeter, SILENCE_LUFS, integrated_loudness};
