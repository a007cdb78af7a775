//! The CPU as a device: what it is, and a thread pool as wide as this process may use.

mod cgroup;
mod facts;
mod host_memory;
mod pool;

pub use facts::{CpuCache, CpuFacts};
pub use host_memory::ensure_host_room;
pub use pool::{CpuDevice, pool_waits};
