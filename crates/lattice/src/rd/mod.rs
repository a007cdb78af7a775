//! Reaction-diffusion: a bistable medium `u` with a memory `e` of how much it changes.
//!
//! One step, in `f32`, with zero outside the lattice and `d` dimensions:
//!
//! ```text
//! lap = neighbours − 2d·u
//! u'  = clamp(u + D·lap + k·u·(1−u)·(u−a), 0, 1)      k = R, or 0.8·R where e > ½
//! e'  = 0.9·e + 0.1·|lap|
//! ```
//!
//! The order of operations and the places where a product and a sum are rounded once are fixed in
//! [`Rule`], so that every form gives the same bits.

mod cpu;
mod cuda;
mod field;
mod march;
mod rule;
mod sweep;
mod tiling;
mod vulkan;
mod workload;

pub use cpu::{CpuForm, CpuRun};
pub use cuda::{CudaForm, CudaRun};
pub use field::Field;
pub use march::every_module;
pub use rule::Rule;
pub use vulkan::{VulkanForm, VulkanRun};
pub use workload::RdWorkload;
