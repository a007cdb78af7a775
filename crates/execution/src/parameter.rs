//! The compiler's types as the launch ABI lays them out.

use warpsmith_compiler::ir::Module;
use warpsmith_compiler::ir::types::Query;
use warpsmith_compiler::launch_abi::{ParameterType, ScalarType};
use warpsmith_compiler::{Scalar, Type, TypeId};

/// The kernel's parameter types, in order; `Err` names one that cannot be passed to a launch.
pub(crate) fn parameter_types(module: &Module) -> Result<Vec<ParameterType>, String> {
    let kernel = &module.kernel;
    kernel.vars[..kernel.params as usize]
        .iter()
        .map(|var| parameter_type(module, var.ty))
        .collect()
}

/// One type; also used for the elements of arrays.
pub(crate) fn parameter_type(module: &Module, ty: TypeId) -> Result<ParameterType, String> {
    let refuse = || {
        format!(
            "a parameter of type {}",
            module.types.describe(ty, &module.names)
        )
    };
    let scalar_of = |scalar| scalar_type(scalar).ok_or_else(refuse);
    Ok(match module.types.get(ty) {
        Type::Scalar(scalar) => ParameterType::Scalar(scalar_of(scalar)?),
        Type::Vector { length, scalar } => ParameterType::Vector {
            length: length as usize,
            scalar: scalar_of(scalar)?,
        },
        Type::Matrix { rows, cols, scalar } => ParameterType::Matrix {
            rows: rows as usize,
            columns: cols as usize,
            scalar: scalar_of(scalar)?,
        },
        Type::Quat(scalar) => ParameterType::Quaternion(scalar_of(scalar)?),
        Type::Transform(scalar) => ParameterType::Transform(scalar_of(scalar)?),
        Type::Array { .. } => ParameterType::Array,
        // The address of a word that holds the texture's address, and its sizes.
        Type::Query(query @ (Query::Texture1 | Query::Texture2 | Query::Texture3)) => {
            let sizes = query.fields().iter().map(|_| ScalarType::Int32);
            let fields = [ScalarType::Uint64].into_iter().chain(sizes);
            ParameterType::Struct(fields.map(ParameterType::Scalar).collect())
        }
        Type::Struct(id) => {
            let fields = &module.types.struct_def(id).fields;
            let fields: Result<_, _> = fields
                .iter()
                .map(|field| parameter_type(module, field.ty))
                .collect();
            ParameterType::Struct(fields?)
        }
        _ => return Err(refuse()),
    })
}

fn scalar_type(scalar: Scalar) -> Option<ScalarType> {
    Some(match scalar {
        Scalar::Bool => ScalarType::Bool,
        Scalar::I8 => ScalarType::Int8,
        Scalar::I16 => ScalarType::Int16,
        Scalar::I32 => ScalarType::Int32,
        Scalar::I64 => ScalarType::Int64,
        Scalar::U8 => ScalarType::Uint8,
        Scalar::U16 => ScalarType::Uint16,
        Scalar::U32 => ScalarType::Uint32,
        Scalar::U64 => ScalarType::Uint64,
        Scalar::F16 => ScalarType::Float16,
        Scalar::BF16 => ScalarType::Bfloat16,
        Scalar::F32 => ScalarType::Float32,
        Scalar::F64 => ScalarType::Float64,
        _ => return None,
    })
}

/// The scalars of a type in the order of memory, padding left out: offset and scalar.
pub(crate) fn scalars(ty: &ParameterType, offset: usize, out: &mut Vec<(usize, ScalarType)>) {
    let mut run = |count: usize, scalar: ScalarType| {
        out.extend((0..count).map(|index| (offset + index * scalar.bytes(), scalar)));
    };
    match ty {
        ParameterType::Scalar(scalar) => run(1, *scalar),
        ParameterType::Vector { length, scalar } => run(*length, *scalar),
        ParameterType::Matrix {
            rows,
            columns,
            scalar,
        } => run(rows * columns, *scalar),
        ParameterType::Quaternion(scalar) => run(4, *scalar),
        ParameterType::Transform(scalar) => run(7, *scalar),
        ParameterType::Array => {}
        ParameterType::Struct(fields) => {
            for (start, field) in ParameterType::field_offsets(fields) {
                scalars(field, offset + start, out);
            }
        }
    }
}
