//! Arguments of a launch.

use warpsmith_ir::Number;

/// One argument of a kernel; `M` is what the bytes of arrays lie in.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument<M = Vec<u8>> {
    /// A scalar, or the components of a vector, matrix (row by row), quaternion or transform.
    Value(Vec<Number>),
    /// An array.
    Array(ArrayArgument<M>),
    /// The fields of a struct.
    Struct(Vec<Self>),
    /// The same memory as an array before it, counted from 0 over all arrays that were given.
    Same(usize),
    /// No array; reading it is a finding.
    Absent,
}

/// Bytes that somebody else owns, for a launch that works on them where they lie.
///
/// Whoever launches promises that they stay there until the launch is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Borrowed {
    /// The first byte.
    pub address: *mut u8,
    /// How many there are.
    pub bytes: usize,
}

/// Bytes that lie on a device: how many there are is all that a launch has to know of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnDevice(pub usize);

/// What the bytes of an array lie in.
pub trait Bytes {
    /// How many there are.
    fn size(&self) -> usize;
}

impl Bytes for Vec<u8> {
    fn size(&self) -> usize {
        self.len()
    }
}

impl Bytes for OnDevice {
    fn size(&self) -> usize {
        self.0
    }
}

impl Bytes for Borrowed {
    fn size(&self) -> usize {
        self.bytes
    }
}

impl Argument {
    /// A floating-point scalar.
    pub fn float(value: f64) -> Self {
        Self::Value(vec![Number::Float(value)])
    }

    /// An integer or truth value.
    pub fn int(value: i64) -> Self {
        Self::Value(vec![Number::Int(i128::from(value))])
    }
}

/// An array: its shape, its elements as C lays them out (little endian, last index fastest), and their
/// gradients in the same layout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArrayArgument<M = Vec<u8>> {
    /// Elements along each dimension.
    pub shape: Vec<usize>,
    /// The elements.
    pub data: M,
    /// Their gradients, where the array has any.
    pub gradient: Option<M>,
}

impl ArrayArgument {
    /// A one-dimensional array of `float32`.
    pub fn from_f32(values: &[f32]) -> Self {
        Self {
            shape: vec![values.len()],
            data: values
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect(),
            gradient: None,
        }
    }

    /// The elements as `float32`.
    pub fn to_f32(&self) -> Vec<f32> {
        floats(&self.data)
    }

    /// The gradients as `float32`; empty where there are none.
    pub fn gradient_to_f32(&self) -> Vec<f32> {
        self.gradient.as_deref().map(floats).unwrap_or_default()
    }

    /// Gives the array gradients of these values.
    #[must_use]
    pub fn with_gradient_f32(mut self, values: &[f32]) -> Self {
        self.gradient = Some(
            values
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect(),
        );
        self
    }
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    let (words, _) = bytes.as_chunks::<4>();
    words.iter().map(|word| f32::from_le_bytes(*word)).collect()
}

/// A launch that cannot begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    /// As many arguments as parameters are needed.
    #[error("cannot launch: the kernel takes {expected} arguments, {found} given")]
    Count {
        /// How many the kernel takes.
        expected: usize,
        /// How many were given.
        found: usize,
    },
    /// An argument does not fit its parameter.
    #[error("cannot launch: `{parameter}` is {expected}, the argument is {found}")]
    Mismatch {
        /// The parameter, with the field if it is part of a struct.
        parameter: String,
        /// What it takes.
        expected: String,
        /// What was given.
        found: String,
    },
    /// The grid does not fit the kernel.
    #[error("cannot launch over a grid of {dim:?}: {reason}")]
    Grid {
        /// The grid.
        dim: Vec<usize>,
        /// What does not fit.
        reason: String,
    },
}
