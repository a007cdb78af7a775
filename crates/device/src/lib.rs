//! Devices and everything that runs on them: discovery, buffers, streams, events, graphs, pools,
//! memory accounting, kernel images, and compilation by NVRTC.
//!
//! This is the only crate that meets CUDA and Vulkan. It does not know what kernels are for.
//!
//! | on a CPU | here |
//! |---|---|
//! | a machine | [`Device`] |
//! | `Vec<T>` | [`DeviceBuffer<T>`], or [`PinnedBuffer<T>`] on the host side of a copy |
//! | a thread with a queue of work | [`Stream`] |
//! | a stop-watch reading | [`Event`] |
//! | a function | [`Kernel`], loaded from a [`warpsmith_core::KernelImage`] |
//! | a recorded macro | [`Graph`] |
//! | a free list | [`BufferPool`] |
//!
//! ```
//! use warpsmith_device::{Device, DeviceChoice};
//! let device = Device::open(DeviceChoice::Cpu)?;
//! assert!(device.name().len() > 0);
//! # Ok::<(), warpsmith_device::DeviceError>(())
//! ```

mod choice;
mod cpu;
mod cuda;
mod cupti;
mod driver_finding;
mod error;
mod installed;
mod ledger;
mod machine;
mod nvrtc;
mod vulkan;

pub use choice::{Device, DeviceChoice, ParseChoiceError};
pub use cpu::{CpuCache, CpuDevice, CpuFacts, ensure_host_room, pool_waits};
pub use cuda::{
    Argument, BufferPool, CudaDevice, DeviceBuffer, DeviceElement, EmbeddedCubin, Event, GpuFacts,
    Graph, HostFlag, HostWords, Kernel, LaunchShape, LoadedFrom, MappedBuffer, MemoryInfo,
    PinnedBuffer, PoolStats, Stream, TiledMatrix, any_context_given_up, cuda_devices, embed_cubins,
    raw,
};
pub use cupti::{Activity, ActivityKind, ActivityTrace};
pub use driver_finding::{FAMILY, driver_finding};
pub use error::DeviceError;
pub use installed::{python_sites, toolkit_roots};
pub use ledger::{AllocationSite, Ledger, LedgerStats, MemoryScope, ScopeStats};
pub use machine::machine_identity;
pub use nvrtc::{
    CompileCache, CompileOptions, Compiled, KernelLayout, KernelResources, Nvrtc, ParameterPlace,
    Target, kernel_code, kernel_parameters, kernel_resources,
};
pub use vulkan::{
    VulkanBuffer, VulkanCommands, VulkanDevice, VulkanFacts, VulkanFloats, VulkanKernel,
    VulkanKind, VulkanStep, vulkan_devices, vulkan_messages, vulkan_validation_is_installed,
};
