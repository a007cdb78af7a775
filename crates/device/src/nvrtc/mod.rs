//! CUDA's run-time compiler: found wherever it is installed, bound at run time, with a cache.

mod binding;
mod cache;
mod compile;
mod cubin;
mod search;

pub use binding::Nvrtc;
pub use cache::CompileCache;
pub use compile::{CompileOptions, Compiled, Target};
pub use cubin::{
    KernelLayout, KernelResources, ParameterPlace, kernel_code, kernel_parameters, kernel_resources,
};
