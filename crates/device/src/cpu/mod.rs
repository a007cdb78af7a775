//! The CPU as a device: what it is, and a thread pool as wide as this process may use.

mod cgroup;
mod facts;
mod pool;

pub use facts::{CpuCache, CpuFacts};
pub use pool::CpuDevice;
