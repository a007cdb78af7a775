//! Intel's GPUs through the files of `i915` and `xe`: sensors, the clock of each GT, and what processes
//! say of their own use, because neither driver says how busy the GPU is.

mod gpu;
mod gt;

pub(crate) use gpu::IntelGpu;
