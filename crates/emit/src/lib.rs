//! From IR to C++ text, for CUDA and for the CPU; the runtime header before it, and how a launch packs the
//! arguments of such a kernel.
//!
//! Everything is written into one buffer in one pass per section. The text after the prologue is
//! reproduced byte for byte; see [`emit_cuda`] and [`emit_cpu`].

mod body;
mod buffer;
mod device_function;
mod forward;
mod hip;
mod kernel_cpu;
mod kernel_cuda;
pub mod launch_abi;
mod literal;
mod loops;
mod places;
mod reverse;
pub mod runtime_header;
mod structs;
mod writer;

use body::Forward;
use buffer::Buffer;

use warpsmith_ir::{Function, Module, Origin};

pub use hip::hip_text;

/// Which C++ dialect is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// CUDA C++: kernels with a grid-stride loop.
    Cuda,
    /// C++ for the CPU: kernels called once per task.
    Cpu,
}

/// A module as CUDA C++, without a prologue.
pub fn emit_cuda(module: &Module) -> String {
    let mut out = String::new();
    emit(module, Target::Cuda, &mut out);
    out
}

/// A module as C++ for the CPU, without a prologue.
pub fn emit_cpu(module: &Module) -> String {
    let mut out = String::new();
    emit(module, Target::Cpu, &mut out);
    out
}

/// Appends a module's text, without a prologue, to `out`; gives where its backward kernel begins, which is
/// the end where it has none.
pub fn emit(module: &Module, target: Target, out: &mut String) -> usize {
    let mut text = Buffer::after(std::mem::take(out));
    definitions(module, target, &mut text);
    let backward_start = match target {
        Target::Cuda => kernel_cuda::emit(module, &mut text).backward_start,
        Target::Cpu => kernel_cpu::emit(module, None, &mut text),
    };
    *out = text.into_string();
    backward_start
}

/// Appends a module's CUDA text to `cuda` and its CPU text to `cpu`, as [`emit`] does. Most bodies have the
/// same lines in both, so that this takes less time than two calls of that.
pub fn emit_both(module: &Module, cuda: &mut String, cpu: &mut String) -> [usize; 2] {
    let mut text = Buffer::after(std::mem::take(cuda));
    definitions(module, Target::Cuda, &mut text);
    let kernels = kernel_cuda::emit(module, &mut text);
    *cuda = text.into_string();
    let cuda_backward = kernels.backward_start;
    let same = body::has_same_lines(module, &module.kernel).then_some(kernel_cpu::Same {
        text: cuda,
        kernels,
    });
    let mut text = Buffer::after(std::mem::take(cpu));
    definitions(module, Target::Cpu, &mut text);
    let cpu_backward = kernel_cpu::emit(module, same.as_ref(), &mut text);
    *cpu = text.into_string();
    [cuda_backward, cpu_backward]
}

/// Structs and functions.
fn definitions(module: &Module, target: Target, text: &mut Buffer) {
    structs::emit(module, text);
    let (late, early): (Vec<&Function>, Vec<&Function>) =
        (module.functions.iter()).partition(|function| function.takes_gradients(&module.names));
    let layouts: Vec<Forward> = early
        .iter()
        .map(|function| device_function::emit_forward(module, function, target, text))
        .collect();
    // Adjoints that call one of an author's own need it before them.
    for own in [true, false] {
        for (function, layout) in early.iter().zip(&layouts) {
            if own == matches!(function.custom().origin, Origin::Gradient { .. }) {
                device_function::emit_adjoint(module, function, target, layout, text);
            }
        }
    }
    for function in late {
        device_function::emit_forward(module, function, target, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith_compiler::{Options, compile};

    /// Bodies with the same lines, and those that leave early, stand on one line or have tiles.
    #[test]
    fn both_texts_at_once_are_those_of_each_target() {
        let bodies = [
            "    x[i] = wp.sin(x[i]) * 2.0 + float(n)\n",
            "    y = x[i]\n    for k in range(n):\n        y += x[k]\n        if y > 3.0:\n            break\n    x[i] = y\n",
            "    y = x[i]\n    while y > 1.0:\n        y *= 0.5\n        for k in range(3):\n            y -= 0.125\n    x[i] = y\n",
            "    if i > n:\n        return\n    x[i] = 1.0\n",
            "    print(\"é %d\\n\")\n    wp.atomic_add(x, i, 2.0)  # ünï\n",
            "    t = wp.tile_load(x, shape=16)\n    wp.tile_store(x, t)\n",
        ];
        let mut shared = 0;
        for body in bodies {
            for options in ["", "(enable_backward=False)", "(grid_stride=False)"] {
                let source = format!(
                    "import warp as wp\n\n\n@wp.kernel{options}\ndef f(x: wp.array(dtype=float), n: int):\n    i = wp.tid()\n{body}"
                );
                let Ok(module) = compile(&source, &Options::default()) else {
                    panic!("{source}");
                };
                let (mut cuda, mut cpu) = (String::from("// before\n"), String::new());
                let [cuda_cut, cpu_cut] = emit_both(&module, &mut cuda, &mut cpu);
                let cuda = &cuda["// before\n".len()..];
                assert_eq!(cuda, emit_cuda(&module), "{source}");
                assert_eq!(cpu, emit_cpu(&module), "{source}");
                let cuda_cut = cuda_cut - "// before\n".len();
                for (text, cut, word) in [(cuda, cuda_cut, "_cuda_"), (&cpu, cpu_cut, "_cpu_")] {
                    let symbol = [word, "kernel_backward("].concat();
                    assert!(!text[..cut].contains(&symbol), "{source}");
                    assert_eq!(text[cut..].contains(&symbol), cut < text.len(), "{source}");
                    assert_eq!(cut == text.len(), options.contains("backward"), "{source}");
                }
                shared += u32::from(body::has_same_lines(&module, &module.kernel));
            }
        }
        assert_eq!(shared, 12);
    }
}
