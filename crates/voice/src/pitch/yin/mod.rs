//! YIN as `librosa.yin` 0.11 computes it: always a frequency, no voicing decision.

mod cpu;
mod cuda;
mod difference;
mod lag_difference;
mod running_correlation;
mod stream;
mod workload;

pub use cpu::Yin;
pub use cuda::{yin_in_place, yin_on_cuda};
pub(crate) use difference::{Difference, parabolic_shift, trough_lanes};
pub use stream::YinStream;
pub(crate) use workload::{YIN, framing};
