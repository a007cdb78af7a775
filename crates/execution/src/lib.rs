//! Python kernels on a GPU: the compiler's text through NVRTC to a launch, and whether the GPU, or native
//! code on the CPU, does what the interpreter says.
//!
//! The compiler knows no devices and the device layer knows no languages; they meet here.

mod agreement;
mod conditioning;
mod device_arguments;
mod foreign_launch;
mod gpu_kernel;
mod native_verify;
mod parameter;
mod recorded_parts;
mod tile_memory;
mod verify;
mod vulkan_check;
mod vulkan_kernel;
mod vulkan_memory;
mod vulkan_verify;
mod vulkan_work;

pub use agreement::{Difference, compare_arguments};
pub use foreign_launch::{ForeignArgument, ForeignLaunch};
pub use gpu_kernel::{Build, GpuKernel, RunError};
pub use native_verify::{NativeParity, verify_natively};
pub use verify::{KernelParity, verify_kernel};
pub use vulkan_check::differs_from_interpreter;
pub use vulkan_kernel::{Timed, VulkanError, VulkanProgram, VulkanRun, spirv_target};
pub use vulkan_verify::{Closeness, VulkanParity, verify_on_vulkan};
pub use vulkan_work::{
    FUSED_MULTIPLY_ADD, KernelLaunch, VulkanFunction, VulkanWork, WorkArgument, WorkLaunch,
};
pub use warpsmith_spirv::Printed;
