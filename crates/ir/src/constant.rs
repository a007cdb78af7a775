//! Constants, which keep the kind that they had in Python: `1` given as a `float32` is still printed
//! as `1`.

use crate::names::Name;
use crate::types::{Scalar, TypeId};

/// A number as Python holds it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer; larger ones than 128 bits are refused by the front end.
    Int(i128),
    /// A floating-point number.
    Float(f64),
}

/// The value of a constant variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Constant {
    /// `True` or `False`.
    Bool(bool),
    /// A Python number.
    Number(Number),
    /// A number that was given a scalar type by a constructor.
    Typed(Scalar, Number),
    /// A string.
    Str(Name),
    /// A vector, matrix, quaternion or transform: a run of [`super::Module::elements`], each already
    /// rounded to the scalar type.
    Compound {
        /// The type.
        ty: TypeId,
        /// First element.
        start: u32,
        /// Number of elements.
        len: u32,
    },
}

impl Constant {
    /// The value as a Python integer, `bool` included.
    pub fn as_int(self) -> Option<i128> {
        match self {
            Self::Bool(value) => Some(i128::from(value)),
            Self::Number(Number::Int(value)) | Self::Typed(_, Number::Int(value)) => Some(value),
            _ => None,
        }
    }

    /// Python's truth of the value, where the compiler decides branches by it.
    pub fn truth(self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(value),
            Self::Number(Number::Int(value)) => Some(value != 0),
            Self::Number(Number::Float(value)) => Some(value != 0.0),
            Self::Typed(..) | Self::Str(_) | Self::Compound { .. } => None,
        }
    }
}
