//! A small neural force field: what a learned potential costs per call when the work is tiny.
//!
//! Per atom: an embedding of its species beside its coordinates, three layers with SiLU, an energy
//! that is summed over atoms and a force. The forces are a head of their own, not the gradient of
//! the energy: this is a workload for latency, not a potential to run dynamics with.

mod cpu;
mod cuda;
mod weights;
mod workload;

pub use cpu::NetworkScratch;
pub use cuda::CudaNetwork;
pub use weights::ForceNetwork;
pub(crate) use workload::{ID, NetworkCall, held_bytes};
