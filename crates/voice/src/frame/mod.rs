//! What the kernels and the workloads over frames share.

pub(crate) mod feature;
pub(crate) mod source;
pub(crate) mod window_task;
