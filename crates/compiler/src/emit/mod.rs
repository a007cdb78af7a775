//! From IR to C++ text, for CUDA and for the CPU.
//!
//! Everything is written into one buffer in one pass per section. The text after the prologue is
//! reproduced byte for byte; see [`crate::emit_cuda`] and [`crate::emit_cpu`].

mod body;
mod buffer;
mod device_function;
mod forward;
mod kernel_cpu;
mod kernel_cuda;
mod literal;
mod loops;
mod places;
mod reverse;
mod structs;
mod writer;

use body::Forward;
use buffer::Buffer;

use warpsmith_ir::{Module, Origin};

/// Which C++ dialect is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// CUDA C++: kernels with a grid-stride loop.
    Cuda,
    /// C++ for the CPU: kernels called once per task.
    Cpu,
}

/// Appends a module's text, without a prologue, to `out`.
pub fn emit(module: &Module, target: Target, out: &mut String) {
    let mut text = Buffer::after(std::mem::take(out));
    structs::emit(module, &mut text);
    let layouts: Vec<Forward> = module
        .functions
        .iter()
        .map(|function| device_function::emit_forward(module, function, target, &mut text))
        .collect();
    // Adjoints that call one of an author's own need it before them.
    for own in [true, false] {
        for (function, layout) in module.functions.iter().zip(&layouts) {
            if own == matches!(function.custom().origin, Origin::Gradient { .. }) {
                device_function::emit_adjoint(module, function, target, layout, &mut text);
            }
        }
    }
    match target {
        Target::Cuda => kernel_cuda::emit(module, &mut text),
        Target::Cpu => kernel_cpu::emit(module, &mut text),
    }
    *out = text.into_string();
}
