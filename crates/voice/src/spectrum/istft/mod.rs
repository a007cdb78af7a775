//! Signals from `[bin, frame]` matrices: the inverse of [`crate::Stft`].

mod cpu;
mod cuda;
mod workload;

pub use cpu::Istft;
pub use cuda::istft_on_cuda;
pub(crate) use cuda::{CudaIstft, blocks, frames_first, places, silences, transform_blocks};
pub(crate) use workload::{IstftWorkload, cost, prepare};
