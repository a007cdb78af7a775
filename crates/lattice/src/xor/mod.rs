//! Keyed XOR in place: `y_i = x_i xor key_(i mod K)`. Applying it twice with the same key gives the
//! data back. The lowest intensity there is, so it measures bandwidth.

mod cpu;
mod cuda;
mod vulkan;
mod workload;

pub use cpu::Key;
pub use cuda::CudaXor;
pub use vulkan::VulkanXor;
pub use workload::XorWorkload;
