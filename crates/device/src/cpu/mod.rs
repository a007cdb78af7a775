//! The CPU as a device: what it is, and a thread pool as wide as this process may use.

mod cgroup;
mod facts;
mod pool;
mod room;

pub use facts::{CpuCache, CpuFacts};
pub use pool::{CpuDevice, pool_waits};
pub use room::ensure_host_room;
