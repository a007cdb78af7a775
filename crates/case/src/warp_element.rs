//! What a case says of a Warp type: the numbers that a value or an element of an array is made of.
//!
//! A vector of three `float32` is three numbers of type `f32`, an array of them an array with one more
//! dimension, of extent 3; a matrix has two more.

use warpsmith_compiler::ir::types::{TypeId, TypeTable};
use warpsmith_compiler::{Scalar as WarpScalar, Type};
use warpsmith_measure::kernel_file::Scalar;

/// A Warp value in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WarpElement {
    /// The type of its numbers.
    pub(crate) scalar: Scalar,
    /// How many there are along each of its own dimensions; none of a scalar.
    pub(crate) extents: Vec<usize>,
}

impl WarpElement {
    /// `None` of what is not made of numbers that a case can hold.
    pub(crate) fn of(types: &TypeTable, ty: TypeId) -> Option<Self> {
        let extents = match types.get(ty) {
            Type::Scalar(_) => Vec::new(),
            Type::Vector { length, .. } => vec![length as usize],
            Type::Matrix { rows, cols, .. } => vec![rows as usize, cols as usize],
            Type::Quat(_) => vec![4],
            Type::Transform(_) => vec![7],
            _ => return None,
        };
        Some(Self {
            scalar: scalar(types.scalar_of(ty)?)?,
            extents,
        })
    }

    /// How many numbers it has.
    pub(crate) fn count(&self) -> usize {
        self.extents.iter().product()
    }
}

/// The type of a case that a Warp scalar is.
fn scalar(scalar: WarpScalar) -> Option<Scalar> {
    Some(match scalar {
        WarpScalar::I8 => Scalar::I8,
        WarpScalar::U8 => Scalar::U8,
        WarpScalar::I16 => Scalar::I16,
        WarpScalar::U16 => Scalar::U16,
        WarpScalar::I32 => Scalar::I32,
        WarpScalar::U32 => Scalar::U32,
        WarpScalar::I64 => Scalar::I64,
        WarpScalar::U64 => Scalar::U64,
        WarpScalar::F16 => Scalar::F16,
        WarpScalar::BF16 => Scalar::Bf16,
        WarpScalar::F32 => Scalar::F32,
        WarpScalar::F64 => Scalar::F64,
        _ => return None,
    })
}
