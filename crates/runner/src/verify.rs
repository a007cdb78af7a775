//! A kernel on the GPU against the interpreter, on random arguments, forward and backward.

use serde::Serialize;
use warpsmith_compiler::Interpreter;
use warpsmith_compiler::ir::Module;
use warpsmith_compiler::launch_abi::Direction;
use warpsmith_core::Finding;
use warpsmith_device::{CompileCache, CudaDevice, Nvrtc};

use crate::agreement::{Difference, compare_arguments};
use crate::gpu_kernel::{GpuKernel, RunError};
use crate::random_arguments::random_arguments;

/// How a kernel fared.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum KernelParity {
    /// GPU and interpreter agree.
    Agrees {
        /// Whether the adjoint was compared too.
        backward: bool,
    },
    /// They do not.
    Disagrees {
        /// `forward` or `backward`.
        direction: &'static str,
        /// Where, first.
        difference: Difference,
    },
    /// The interpreter found something wrong with the kernel on these arguments (an index out of
    /// range, say), so that it may not run on a GPU, or does not know an operation.
    NotExecutable {
        /// What it said.
        reason: String,
    },
    /// It could not be compiled, loaded or launched.
    Failed {
        /// What was seen.
        reason: String,
    },
}

/// Runs the kernel of `module` over `size` threads in each dimension on both.
pub fn verify_kernel(
    gpu: &CudaDevice,
    nvrtc: &Nvrtc,
    cache: &CompileCache,
    module: &Module,
    size: usize,
    seed: u64,
) -> KernelParity {
    match check(gpu, nvrtc, cache, module, size, seed) {
        Ok(parity) => parity,
        Err(error) => KernelParity::Failed {
            reason: error.to_string(),
        },
    }
}

fn check(
    gpu: &CudaDevice,
    nvrtc: &Nvrtc,
    cache: &CompileCache,
    module: &Module,
    size: usize,
    seed: u64,
) -> Result<KernelParity, RunError> {
    let not_executable = |reason: String| Ok(KernelParity::NotExecutable { reason });
    let given = match random_arguments(module, size, seed) {
        Ok(arguments) => arguments,
        Err(reason) => return not_executable(reason),
    };
    let dim = vec![size; rank(module)];
    let kernel = GpuKernel::build(gpu, nvrtc, cache, module)?;
    let mut backward = false;
    for (direction, name) in [
        (Direction::Forward, "forward"),
        (Direction::Backward, "backward"),
    ] {
        if direction == Direction::Backward && !kernel.is_differentiable() {
            break;
        }
        let planned = match direction {
            Direction::Forward => Interpreter::forward(module),
            Direction::Backward => Interpreter::adjoint(module),
        };
        let interpreter = match planned {
            Ok(interpreter) => interpreter,
            Err(findings) => return not_executable(first_message(&findings)),
        };
        let mut expected = given.clone();
        match interpreter.run(&dim, &mut expected) {
            Ok(outcome) if outcome.findings.is_empty() => {}
            Ok(outcome) => return not_executable(first_message(&outcome.findings)),
            Err(error) => return not_executable(error.to_string()),
        }
        let mut actual = given.clone();
        // SAFETY: the interpreter ran with these arguments and found no index out of range.
        unsafe { kernel.run(gpu, module, direction, &dim, &mut actual)? };
        if let Some(difference) = compare_arguments(module, &actual, &expected) {
            return Ok(KernelParity::Disagrees {
                direction: name,
                difference,
            });
        }
        backward = direction == Direction::Backward;
    }
    Ok(KernelParity::Agrees { backward })
}

fn first_message(findings: &[Finding]) -> String {
    findings
        .first()
        .map_or_else(|| "no finding".into(), |finding| finding.message.clone())
}

/// How many coordinates the kernel asks for, at least one.
fn rank(module: &Module) -> usize {
    match &module.kernel.kind {
        warpsmith_compiler::ir::FunctionKind::Kernel { launch_rank, .. } => {
            (*launch_rank as usize).max(1)
        }
        warpsmith_compiler::ir::FunctionKind::Device { .. } => 1,
    }
}
