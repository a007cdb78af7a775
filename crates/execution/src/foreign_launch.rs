//! Launches on arrays that another library owns, in its stream: nothing is copied and nothing waits.

use warpsmith_compiler::Type;
use warpsmith_compiler::ir::{Module, Number};
use warpsmith_compiler::launch_abi::{
    Argument, ArgumentBuffer, ArrayArgument, Direction, LaunchBounds,
};
use warpsmith_device::Stream;

use crate::device_arguments::value_bytes;
use crate::gpu_kernel::{GpuKernel, RunError};
use crate::parameter::parameter_type;

/// An argument of such a launch.
#[derive(Clone, Debug, PartialEq)]
pub enum ForeignArgument {
    /// A contiguous array in device memory.
    Array {
        /// Address of its first element.
        address: u64,
        /// Elements along each dimension; those of a vector or matrix are not counted.
        shape: Vec<usize>,
    },
    /// A scalar, or the components of a vector or matrix.
    Value(Vec<Number>),
}

impl GpuKernel {
    /// Queues the kernel over the grid `dim` on `stream` and returns.
    ///
    /// # Safety
    /// `module` is what this kernel was built from. Every array is live device memory of its shape
    /// and of its parameter's element type until the launch is over, and the kernel stays inside:
    /// the emitted text checks no index.
    pub unsafe fn launch(
        &self,
        stream: &Stream,
        module: &Module,
        dim: &[usize],
        arguments: &[ForeignArgument],
    ) -> Result<(), RunError> {
        let bounds = LaunchBounds::new(dim)?;
        let packed = pack(module, arguments)?;
        let packed = ArgumentBuffer::pack(&bounds, self.parameters(), &packed, None)?;
        let mut bytes = packed.bytes().to_vec();
        let kernel = self.entry(Direction::Forward)?;
        // SAFETY: the bytes are packed for exactly this kernel's parameters; memory and bounds are
        // the caller's promise.
        unsafe { stream.launch_packed(kernel, self.shape(&bounds), &mut bytes)? };
        Ok(())
    }
}

fn pack(module: &Module, arguments: &[ForeignArgument]) -> Result<Vec<Argument>, RunError> {
    let kernel = &module.kernel;
    let types = kernel.vars[..kernel.params as usize]
        .iter()
        .map(|var| var.ty);
    if types.len() != arguments.len() {
        return Err(RunError::Unsupported(format!(
            "{} arguments: it takes {}",
            arguments.len(),
            types.len()
        )));
    }
    types
        .zip(arguments)
        .map(|(ty, argument)| match (argument, module.types.get(ty)) {
            (ForeignArgument::Array { address, shape }, Type::Array { element, .. }) => {
                let element = parameter_type(module, element).map_err(RunError::Unsupported)?;
                let array = ArrayArgument::contiguous(*address, 0, shape, element.bytes())?;
                Ok(Argument::Array(array))
            }
            (ForeignArgument::Value(numbers), Type::Array { .. }) => Err(RunError::Unsupported(
                format!("{} numbers where it takes an array", numbers.len()),
            )),
            (ForeignArgument::Array { .. }, _) => Err(RunError::Unsupported(
                "an array where it takes a value".into(),
            )),
            (ForeignArgument::Value(numbers), _) => {
                let ty = parameter_type(module, ty).map_err(RunError::Unsupported)?;
                Ok(Argument::Value(value_bytes(&ty, numbers)))
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use warpsmith_compiler::{Options, compile};

    use super::*;

    const SCALE: &str = "import warp as wp\n\n@wp.kernel\ndef scale(x: wp.array(dtype=wp.vec3), a: float):\n    \
                         i = wp.tid()\n    x[i] = a * x[i]\n";

    #[test]
    fn arrays_are_passed_by_address_and_wrong_arguments_are_refused() {
        let module = compile(SCALE, &Options::default()).unwrap();
        let array = ForeignArgument::Array {
            address: 4096,
            shape: vec![8],
        };
        let value = ForeignArgument::Value(vec![Number::Float(2.0)]);
        let packed = pack(&module, &[array.clone(), value.clone()]).unwrap();
        let Argument::Array(seen) = &packed[0] else {
            panic!("{packed:?}");
        };
        assert_eq!((seen.data, seen.grad), (4096, 0));
        assert_eq!(packed[1], Argument::Value(2f32.to_le_bytes().to_vec()));
        assert!(pack(&module, &[array.clone(), array]).is_err());
        assert!(pack(&module, &[value.clone(), value.clone()]).is_err());
        assert!(pack(&module, &[value]).is_err());
    }
}
