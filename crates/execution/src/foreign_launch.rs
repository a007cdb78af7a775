//! Launches on arrays where they lie in device memory, whoever owns them: nothing is copied and nothing waits.

use warpsmith_compiler::ir::{Module, Number};
use warpsmith_compiler::launch_abi::{
    Argument, ArgumentBuffer, ArrayArgument, Direction, LaunchBounds,
};
use warpsmith_compiler::{Type, TypeId};
use warpsmith_device::Stream;

use crate::device_arguments::{adjoint, value_bytes};
use crate::gpu_kernel::{GpuKernel, RunError, launch_rank};
use crate::parameter::parameter_type;

/// An argument of such a launch.
#[derive(Clone, Debug, PartialEq)]
pub enum ForeignArgument {
    /// An array in device memory.
    Array {
        /// Address of its first element.
        address: u64,
        /// Elements along each dimension; those of a vector or matrix are not counted.
        shape: Vec<usize>,
        /// Bytes from one element to the next along each dimension; contiguous where there are none.
        strides: Option<Vec<i64>>,
        /// Address of the first element's gradient, laid out as the array; 0 where it has none.
        gradient: u64,
    },
    /// A scalar, or the components of a vector or matrix.
    Value(Vec<Number>),
    /// The fields of a struct.
    Struct(Vec<ForeignArgument>),
    /// An array that is not given.
    Absent,
}

/// How a kernel is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignLaunch<'a> {
    /// The grid.
    pub dim: &'a [usize],
    /// The kernel, or its adjoint.
    pub direction: Direction,
}

impl<'a> ForeignLaunch<'a> {
    /// The kernel itself over a grid.
    pub fn forward(dim: &'a [usize]) -> Self {
        Self {
            dim,
            direction: Direction::Forward,
        }
    }
}

impl GpuKernel {
    /// Queues the kernel on `stream` and returns.
    ///
    /// # Safety
    /// `module` is what this kernel was built from. Every array is live device memory of its shape
    /// and of its parameter's element type until the launch is over, and the kernel stays inside:
    /// the emitted text checks no index.
    pub unsafe fn launch(
        &self,
        stream: &Stream,
        module: &Module,
        launch: ForeignLaunch<'_>,
        arguments: &[ForeignArgument],
    ) -> Result<(), RunError> {
        let bounds = LaunchBounds::for_rank(launch.dim, launch_rank(module))?;
        let packed = pack(module, arguments)?;
        let backward = launch.direction == Direction::Backward;
        let adjoints = backward.then(|| packed.iter().map(adjoint).collect::<Vec<Argument>>());
        let packed =
            ArgumentBuffer::pack(&bounds, self.parameters(), &packed, adjoints.as_deref())?;
        let mut bytes = packed.bytes().to_vec();
        let kernel = self.entry(launch.direction)?;
        // SAFETY: the bytes are packed for exactly this kernel's parameters; memory and bounds are
        // the caller's promise.
        unsafe { stream.launch_packed(kernel, self.shape(&bounds, launch.direction), &mut bytes)? };
        Ok(())
    }
}

fn pack(module: &Module, arguments: &[ForeignArgument]) -> Result<Vec<Argument>, RunError> {
    let kernel = &module.kernel;
    let types = kernel.vars[..kernel.params as usize]
        .iter()
        .map(|var| var.ty);
    pack_all(module, types.collect(), arguments)
}

fn pack_all(
    module: &Module,
    types: Vec<TypeId>,
    arguments: &[ForeignArgument],
) -> Result<Vec<Argument>, RunError> {
    if types.len() != arguments.len() {
        return Err(RunError::Unsupported(format!(
            "{} arguments: it takes {}",
            arguments.len(),
            types.len()
        )));
    }
    types
        .into_iter()
        .zip(arguments)
        .map(|(ty, argument)| pack_one(module, ty, argument))
        .collect()
}

fn pack_one(module: &Module, ty: TypeId, argument: &ForeignArgument) -> Result<Argument, RunError> {
    let refuse = |what: String| Err(RunError::Unsupported(what));
    match (argument, module.types.get(ty)) {
        (
            ForeignArgument::Array {
                address,
                shape,
                strides,
                gradient,
            },
            Type::Array { element, .. },
        ) => {
            let element = parameter_type(module, element).map_err(RunError::Unsupported)?;
            let array = ArrayArgument::contiguous(*address, *gradient, shape, element.bytes())?;
            Ok(Argument::Array(match strides {
                Some(strides) => array.with_strides(strides)?,
                None => array,
            }))
        }
        (ForeignArgument::Absent, _) => Ok(Argument::Zero),
        (ForeignArgument::Struct(fields), Type::Struct(id)) => {
            let types = module.types.struct_def(id).fields.iter();
            let types = types.map(|field| field.ty).collect();
            Ok(Argument::Struct(pack_all(module, types, fields)?))
        }
        (ForeignArgument::Struct(fields), _) => refuse(format!(
            "a struct of {} fields where it takes another type",
            fields.len()
        )),
        (ForeignArgument::Value(numbers), Type::Array { .. }) => {
            refuse(format!("{} numbers where it takes an array", numbers.len()))
        }
        (ForeignArgument::Array { .. }, _) => refuse("an array where it takes a value".into()),
        (ForeignArgument::Value(numbers), _) => {
            let ty = parameter_type(module, ty).map_err(RunError::Unsupported)?;
            Ok(Argument::Value(value_bytes(&ty, numbers)))
        }
    }
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
            strides: None,
            gradient: 8192,
        };
        let value = ForeignArgument::Value(vec![Number::Float(2.0)]);
        let packed = pack(&module, &[array.clone(), value.clone()]).unwrap();
        let Argument::Array(seen) = &packed[0] else {
            panic!("{packed:?}");
        };
        assert_eq!((seen.data, seen.grad), (4096, 8192));
        assert_eq!(packed[1], Argument::Value(2f32.to_le_bytes().to_vec()));
        assert!(pack(&module, &[array.clone(), array]).is_err());
        assert!(pack(&module, &[value.clone(), value.clone()]).is_err());
        assert!(pack(&module, std::slice::from_ref(&value)).is_err());
        assert!(pack(&module, &[ForeignArgument::Struct(vec![]), value.clone()]).is_err());
        let absent = pack(&module, &[ForeignArgument::Absent, value]).unwrap();
        assert_eq!(absent[0], Argument::Zero);
    }
}
