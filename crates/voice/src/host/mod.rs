//! `voice/host`: the operations that have no CUDA version, by name, as one workload.

mod operation;
mod workload;

pub(crate) use workload::Host;
