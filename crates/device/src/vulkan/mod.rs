//! Vulkan: devices of any maker, kernels as SPIR-V, arrays by 64-bit address.
//!
//! The loader is opened at run time; its absence is an error with a hint. There are no descriptors: a
//! kernel's one push constant is the address of the block that describes its launch.

mod allocation;
mod buffer;
mod commands;
mod device;
mod facts;
mod handles;
mod host_memory;
mod kernel;
mod loader;
mod manifests;
mod pipeline_cache;
mod places;
mod pool;
mod transfer;

pub use buffer::VulkanBuffer;
pub use commands::{VulkanCommands, VulkanStep};
pub use device::VulkanDevice;
pub use facts::{VulkanFacts, VulkanFloats, VulkanKind, vulkan_devices};
pub use kernel::VulkanKernel;
pub use loader::{vulkan_messages, vulkan_validation_is_installed};
