//! `machine/saxpy`: `a·x + y`, the first kernel with a reference, a tolerance and a cost.

mod cpu;
mod cuda;
mod vulkan;
mod workload;

pub(crate) use workload::Saxpy;
