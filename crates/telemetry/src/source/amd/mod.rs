//! AMD's GPUs through the files of `amdgpu`: one binary table where the GPU has it, and sensors and files
//! of single values for the rest.

mod gpu;
mod identity;
mod kfd;
mod levels;
mod metrics;
mod throttle;

pub(crate) use gpu::AmdGpu;
pub use metrics::{GpuMetrics, MetricsError};
