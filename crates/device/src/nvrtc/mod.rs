//! CUDA's run-time compiler: found wherever it is installed, bound at run time, with a cache.

mod binding;
mod cache;
mod compile;
mod cubin;
pub(crate) mod search;

pub use binding::Nvrtc;
pub use cache::CompileCache;
pub use compile::{CompileOptions, Compiled, Target};
pub use cubin::{KernelResources, kernel_code, kernel_resources};
