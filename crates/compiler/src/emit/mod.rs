//! From IR to C++ text, for CUDA and for the CPU.
//!
//! Everything is written into one buffer in one pass per section. The text after the prologue is
//! reproduced byte for byte; see [`crate::emit_cuda`] and [`crate::emit_cpu`].

mod body;
mod device_function;
mod kernel_cpu;
mod kernel_cuda;
mod literal;
mod structs;
mod writer;

use crate::ir::{FunctionKind, Module};

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
    structs::emit(module, out);
    for function in &module.functions {
        device_function::emit_forward(module, function, target, out);
    }
    for function in &module.functions {
        device_function::emit_adjoint(module, function, target, out);
    }
    let FunctionKind::Kernel { .. } = module.kernel.kind else {
        return;
    };
    match target {
        Target::Cuda => kernel_cuda::emit(module, out),
        Target::Cpu => kernel_cpu::emit(module, out),
    }
}
