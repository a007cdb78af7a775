//! The vocabulary of the builtin table.

use crate::types::{Query, Scalar};

/// A builtin function and its overloads in resolution order.
#[derive(Debug)]
pub struct Builtin {
    /// The name in Python.
    pub name: &'static str,
    /// Overloads, variadic ones last; empty where every overload is over types that are not supported.
    pub rows: &'static [Row],
    /// Whether the builtin is itself written in Python, as a function with a body.
    pub python: bool,
}

/// One overload.
#[derive(Debug)]
pub struct Row {
    /// The C++ function, with its namespace.
    pub native: &'static str,
    /// The C++ function of the adjoint.
    pub adjoint: &'static str,
    /// Parameters in order.
    pub params: &'static [Param],
    /// How the result's type follows from the arguments.
    pub rule: Rule,
    /// How arguments are passed on to C++.
    pub dispatch: Dispatch,
    /// When the arguments stand in braces.
    pub braces: Braces,
    /// Whether the first parameters are any number of values.
    pub variadic: bool,
    /// Whether there is an adjoint.
    pub differentiable: bool,
    /// Whether the adjoint is given the primal result.
    pub adjoint_takes_output: bool,
    /// Whether the call is left out when the forward pass is replayed.
    pub skip_replay: bool,
}

/// A parameter of an overload.
#[derive(Debug)]
pub struct Param {
    /// Its name, for keyword arguments.
    pub name: &'static str,
    /// What it accepts.
    pub pattern: Pattern,
    /// What stands in when it is left out.
    pub default: Default,
}

/// What a parameter accepts; lengths of 0 mean any length.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Pattern {
    Any,
    Scalar(Scalar),
    Vector(u32, Scalar),
    Matrix(u32, u32, Scalar),
    Quat(Scalar),
    Transform(Scalar),
    Array(Scalar),
    Str,
    Range,
    Shape,
    AnyTuple,
    /// A tuple of integers, of any length.
    IntTuple,
    /// A pair of integers.
    IntPair,
    Query(Query),
}

/// What stands in for a parameter that is left out.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Default {
    /// It may not be left out.
    Required,
    /// Nothing is passed.
    Absent,
    Bool(bool),
    Int(i64),
    Float(f64),
    U32(u32),
}

/// How arguments are passed on to C++.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dispatch {
    /// As they are.
    Plain,
    /// A vector constructor: `<length, scalar>`.
    Vector,
    /// A matrix constructor: `<rows, cols, scalar>`.
    Matrix,
    /// A matrix from rows or columns.
    FromVectors,
    /// An identity matrix: `<n, scalar>` and no arguments.
    Identity,
    /// A quaternion constructor: `<scalar>`.
    Quaternion,
    /// `<scalar>` and no arguments.
    ScalarOnly,
    /// A transform constructor: `<scalar>`.
    Transformation,
    /// A spatial vector constructor: `<6, scalar>`.
    SpatialVector,
    /// An array over a raw pointer: `<element>`.
    ArrayFromPointer,
    /// A fixed array: `<size, element>`.
    Zeros,
    /// The first argument is passed as the pointer that it is, without loading it.
    ReferenceFirst,
    /// Slices add the shape of the result as template arguments.
    Extract,
    /// Slices add their length as a template argument.
    VectorAssign,
    /// Slices add their shape as template arguments.
    MatrixAssign,
    /// A bit cast: `<type>`.
    Cast,
    /// A voxel of a volume: `<type>`, which is the last argument in Python.
    Volume,
    /// An element of a tuple: `<index>`.
    TupleExtract,
}

/// When a call's arguments stand in braces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Braces {
    Never,
    Always,
    MoreThanOne,
    MoreThanFour,
    /// Matrices by value, unless square and smaller than five.
    Matrix,
    /// Matrices from vectors, unless square and at most four.
    FromVectors,
}

/// How the type of a call's result follows from its arguments.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Rule {
    /// These types, whatever the arguments.
    Fixed(&'static [Pattern]),
    Void,
    FixedU32,
    /// All arguments have one type, and so has the result.
    SameTypes,
    /// All arguments have one type; the result is its scalar.
    ScalarOfSameTypes,
    First,
    ScalarOfFirst,
    Outer,
    Trace,
    Diag,
    GetDiag,
    Transpose,
    Matrix33OfScalar,
    Matrix66OfScalar,
    QuatOfScalar,
    TransformOfScalar,
    Vector3OfScalar,
    VectorConstructor,
    MatrixConstructor,
    FromColumns,
    FromRows,
    Identity,
    Svd3,
    Svd2,
    Qr3,
    Eig3,
    QuaternionConstructor,
    QuatIdentity,
    QuatToAxisAngle,
    TransformPq,
    TransformConstructor,
    TransformIdentity,
    SpatialVector,
    Where,
    ArrayFromPointer,
    Zeros,
    Address,
    View,
    ArrayStore,
    Store,
    Atomic,
    /// Compare and swap: two values after the indices.
    AtomicCompare,
    VectorExtract,
    MatrixExtract,
    TupleExtract,
    ScalarReference,
    RowReference,
    ExpectEqual,
    Lerp,
    ScalarTimesCompound,
    MatrixTimesVector,
    VectorTimesMatrix,
    MatrixTimesMatrix,
    StaticLength,
    Cast,
    Tuple,
    Slice,
    /// Taken out of the language.
    /// The element of the fourth argument, which is also the fifth's type.
    VoxelElement,
    Removed,
}

impl Rule {
    /// The number of results, where there are several.
    pub fn several_results(self) -> Option<usize> {
        match self {
            Self::Fixed(results) if results.len() > 1 => Some(results.len()),
            Self::Svd3 | Self::Svd2 => Some(3),
            Self::Qr3 | Self::Eig3 | Self::QuatToAxisAngle => Some(2),
            _ => None,
        }
    }
}
