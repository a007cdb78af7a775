//! [`Resampler`](warpsmith_signal::Resampler), which is the specification, on a GPU, and as a workload.

mod cuda;
mod decimate_cuda;
mod workload;

pub(crate) use cuda::CudaResample;
pub use cuda::{resample_in_place, resample_on_cuda};
pub(crate) use decimate_cuda::Decimation;
pub(crate) use workload::RESAMPLE;
