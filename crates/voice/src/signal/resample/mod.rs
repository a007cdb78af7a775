//! Any sample rate to any other: a polyphase filter, a Kaiser-windowed sinc, in f32.
//!
//! Output sample `m` lies at input position `m·down/up`; the rates are reduced to `up/down` first.
//! Positions repeat after `up` outputs, so there are `up` filters; each is normalised to a sum of
//! one, so that a constant stays exactly what it was.

mod cpu;
mod cuda;
mod decimate_cuda;
mod polyphase;
mod windowed_sinc;
mod workload;

pub use cpu::{Quality, Resampler};
pub(crate) use cuda::CudaResample;
pub use cuda::resample_on_cuda;
pub(crate) use decimate_cuda::Decimation;
pub(crate) use workload::Resample;
