//! A launch on a Vulkan device compared with the interpreter, on the arguments of the launch.

use warpsmith_compiler::ir::Module;
use warpsmith_device::VulkanFacts;
use warpsmith_interpreter::{Argument, Interpreter};
use warpsmith_spirv::Spirv;

use crate::agreement::{Difference, compare_arguments, compare_bits};
use crate::vulkan_kernel::VulkanError;

/// Where `actual`, which the device left of `given`, and the interpreter's results differ first: by a bit, or
/// by more than rounding where the kernel has functions such as `sin` or sums of floats in any order.
///
/// # Errors
/// What the interpreter finds wrong in threads.
pub fn differs_from_interpreter(
    facts: &VulkanFacts,
    module: &Module,
    backward: bool,
    dim: &[usize],
    given: Vec<Argument>,
    actual: &[Argument],
) -> Result<Option<Difference>, VulkanError> {
    let planned = match backward {
        true => Interpreter::adjoint(module),
        false => Interpreter::forward(module),
    };
    let interpreter = planned
        .map_err(VulkanError::Refused)?
        .with_block_dim(Spirv::WORKGROUP as i32);
    let mut expected = given;
    let outcome = interpreter.run(dim, &mut expected)?;
    if !outcome.findings.is_empty() {
        return Err(VulkanError::Refused(outcome.findings));
    }
    // Without 64-bit floats quotients and roots are the device's own.
    Ok(match interpreter.rounds_alike() && facts.float64 {
        true => compare_bits(module, actual, &expected),
        false => compare_arguments(module, actual, &expected),
    })
}
