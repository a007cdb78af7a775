//! Arguments on the device: arrays uploaded, values packed, results brought back.

use warpsmith_compiler::ir::{Module, Number};
use warpsmith_compiler::launch_abi::{self, ParameterType, ScalarType};
use warpsmith_compiler::{Type, TypeId};
use warpsmith_device::{CudaDevice, DeviceBuffer};
use warpsmith_interpreter::Argument;
use warpsmith_interpreter::{f32_to_bfloat16, f32_to_half};

use crate::gpu_kernel::RunError;
use crate::parameter::{parameter_type, scalars};

/// Arguments whose arrays lie on the device.
pub(crate) struct DeviceArguments {
    pub(crate) packed: Vec<launch_abi::Argument>,
    /// The adjoint of each argument: arrays carry their gradients themselves, values start at zero.
    pub(crate) adjoints: Vec<launch_abi::Argument>,
    arrays: Vec<DeviceArray>,
}

struct DeviceArray {
    data: DeviceBuffer<u8>,
    gradient: Option<DeviceBuffer<u8>>,
}

impl DeviceArguments {
    /// Uploads `arguments` for the kernel of `module`.
    pub(crate) fn upload(
        gpu: &CudaDevice,
        module: &Module,
        arguments: &[Argument],
    ) -> Result<Self, RunError> {
        let kernel = &module.kernel;
        let types = kernel.vars[..kernel.params as usize]
            .iter()
            .map(|var| var.ty);
        let mut on_device = Self {
            packed: Vec::new(),
            adjoints: Vec::new(),
            arrays: Vec::new(),
        };
        for (ty, argument) in types.zip(arguments) {
            let packed = on_device.place(gpu, module, ty, argument)?;
            on_device.adjoints.push(adjoint(&packed));
            on_device.packed.push(packed);
        }
        Ok(on_device)
    }

    fn place(
        &mut self,
        gpu: &CudaDevice,
        module: &Module,
        ty: TypeId,
        argument: &Argument,
    ) -> Result<launch_abi::Argument, RunError> {
        Ok(match (argument, module.types.get(ty)) {
            (Argument::Array(array), Type::Array { element, .. }) => {
                let element = parameter_type(module, element).map_err(RunError::Unsupported)?;
                let data = gpu.upload(&array.data)?;
                let gradient = array
                    .gradient
                    .as_ref()
                    .map(|bytes| gpu.upload(bytes))
                    .transpose()?;
                let packed = launch_abi::ArrayArgument::contiguous(
                    data.pointer(),
                    gradient.as_ref().map_or(0, DeviceBuffer::pointer),
                    &array.shape,
                    element.bytes(),
                )?;
                self.arrays.push(DeviceArray { data, gradient });
                launch_abi::Argument::Array(packed)
            }
            (Argument::Struct(fields), Type::Struct(id)) => {
                let types: Vec<TypeId> = module
                    .types
                    .struct_def(id)
                    .fields
                    .iter()
                    .map(|field| field.ty)
                    .collect();
                let fields = fields.iter().zip(types);
                let placed: Result<Vec<_>, RunError> = fields
                    .map(|(field, ty)| self.place(gpu, module, ty, field))
                    .collect();
                launch_abi::Argument::Struct(placed?)
            }
            (Argument::Value(numbers), _) => {
                let ty = parameter_type(module, ty).map_err(RunError::Unsupported)?;
                launch_abi::Argument::Value(value_bytes(&ty, numbers))
            }
            (Argument::Absent, _) => launch_abi::Argument::Zero,
            (Argument::Array(_) | Argument::Same(_) | Argument::Struct(_), _) => {
                return Err(RunError::Unsupported(
                    "an argument that is not of its type".into(),
                ));
            }
        })
    }

    /// Brings every array's contents and gradients back into `arguments`.
    pub(crate) fn download(
        &self,
        gpu: &CudaDevice,
        arguments: &mut [Argument],
    ) -> Result<(), RunError> {
        let mut arrays = self.arrays.iter();
        for argument in arguments {
            bring_back(gpu, &mut arrays, argument)?;
        }
        Ok(())
    }
}

fn bring_back<'a>(
    gpu: &CudaDevice,
    arrays: &mut impl Iterator<Item = &'a DeviceArray>,
    argument: &mut Argument,
) -> Result<(), RunError> {
    match argument {
        Argument::Array(array) => {
            // `place` pushed one device array per array argument, in the same order.
            if let Some(on_device) = arrays.next() {
                on_device
                    .data
                    .download_into(gpu.stream(), &mut array.data)?;
                if let (Some(from), Some(to)) = (&on_device.gradient, &mut array.gradient) {
                    from.download_into(gpu.stream(), to)?;
                }
            }
        }
        Argument::Struct(fields) => {
            for field in fields {
                bring_back(gpu, arrays, field)?;
            }
        }
        Argument::Value(_) | Argument::Same(_) | Argument::Absent => {}
    }
    Ok(())
}

/// The backward kernel takes an adjoint per argument: an array's is a view of its gradient.
pub(crate) fn adjoint(argument: &launch_abi::Argument) -> launch_abi::Argument {
    match argument {
        launch_abi::Argument::Array(_)
        | launch_abi::Argument::Value(_)
        | launch_abi::Argument::Zero => launch_abi::Argument::Zero,
        launch_abi::Argument::Struct(fields) => {
            launch_abi::Argument::Struct(fields.iter().map(adjoint).collect())
        }
    }
}

/// The bytes of a value, as many as its type has; missing numbers are zero.
pub(crate) fn value_bytes(ty: &ParameterType, numbers: &[Number]) -> Vec<u8> {
    let mut places = Vec::new();
    scalars(ty, 0, &mut places);
    let mut bytes = vec![0; ty.bytes()];
    for ((offset, scalar), number) in places.into_iter().zip(numbers) {
        let value = number_bytes(scalar, *number);
        bytes[offset..offset + scalar.bytes()].copy_from_slice(&value[..scalar.bytes()]);
    }
    bytes
}

fn number_bytes(scalar: ScalarType, number: Number) -> [u8; 8] {
    let (whole, real) = match number {
        Number::Int(value) => (value, value as f64),
        Number::Float(value) => (value as i128, value),
    };
    let bits = match scalar {
        ScalarType::Bool => u64::from(whole != 0 || real != 0.0),
        ScalarType::Float16 => u64::from(f32_to_half(real as f32)),
        ScalarType::Bfloat16 => u64::from(f32_to_bfloat16(real as f32)),
        ScalarType::Float32 => u64::from((real as f32).to_bits()),
        ScalarType::Float64 => real.to_bits(),
        // Two's complement: the low bytes are the value in every narrower type.
        _ => whole as u64,
    };
    bits.to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_the_bytes_of_their_type() {
        assert_eq!(number_bytes(ScalarType::Int8, Number::Int(-1))[0], 0xFF);
        assert_eq!(
            number_bytes(ScalarType::Float32, Number::Int(1))[..4],
            1f32.to_le_bytes()
        );
        assert_eq!(
            number_bytes(ScalarType::Int32, Number::Float(2.9))[..4],
            2i32.to_le_bytes()
        );
        assert_eq!(number_bytes(ScalarType::Bool, Number::Float(0.5))[0], 1);
        let vector = ParameterType::Vector {
            length: 3,
            scalar: ScalarType::Int16,
        };
        let bytes = value_bytes(&vector, &[Number::Int(1), Number::Int(-2), Number::Int(3)]);
        assert_eq!(bytes, [1, 0, 0xFE, 0xFF, 3, 0]);
    }
}
