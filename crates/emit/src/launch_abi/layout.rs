//! Sizes and alignments of the types that kernels take as parameters.

/// The most dimensions that an array has.
pub const MAX_ARRAY_RANK: usize = 4;

/// Size of `array_t<T>`, for every `T`.
pub(super) const ARRAY_BYTES: usize = 56;
const POINTER_ALIGNMENT: usize = 8;

/// The scalar types of the kernel language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the kernel language")]
pub enum ScalarType {
    Bool,
    Int8,
    Uint8,
    Int16,
    Uint16,
    Int32,
    Uint32,
    Int64,
    Uint64,
    Float16,
    Bfloat16,
    Float32,
    Float64,
}

impl ScalarType {
    /// Size, which is also the alignment.
    pub fn bytes(self) -> usize {
        match self {
            Self::Bool | Self::Int8 | Self::Uint8 => 1,
            Self::Int16 | Self::Uint16 | Self::Float16 | Self::Bfloat16 => 2,
            Self::Int32 | Self::Uint32 | Self::Float32 => 4,
            Self::Int64 | Self::Uint64 | Self::Float64 => 8,
        }
    }
}

/// The type of one kernel parameter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ParameterType {
    /// A number or truth value.
    Scalar(ScalarType),
    /// `vec_t<length, scalar>`.
    Vector {
        /// Number of components.
        length: usize,
        /// Type of each.
        scalar: ScalarType,
    },
    /// `mat_t<rows, columns, scalar>`, stored by rows.
    Matrix {
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        columns: usize,
        /// Type of each element.
        scalar: ScalarType,
    },
    /// `quat_t<scalar>`: x, y, z, w.
    Quaternion(ScalarType),
    /// `transform_t<scalar>`: translation x, y, z, then the rotation's quaternion.
    Transform(ScalarType),
    /// `array_t<T>`; neither element type nor rank shows in the layout.
    Array,
    /// A structure, by its fields.
    Struct(Vec<ParameterType>),
}

impl ParameterType {
    /// What the type's start must be a multiple of.
    pub fn alignment(&self) -> usize {
        match self {
            Self::Scalar(scalar) | Self::Quaternion(scalar) | Self::Transform(scalar) => {
                scalar.bytes()
            }
            Self::Vector { scalar, .. } | Self::Matrix { scalar, .. } => scalar.bytes(),
            Self::Array => POINTER_ALIGNMENT,
            Self::Struct(fields) => fields.iter().map(Self::alignment).max().unwrap_or(1),
        }
    }

    /// `sizeof`: a structure's size is padded to its alignment, and an empty one has a byte.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Scalar(scalar) => scalar.bytes(),
            Self::Vector { length, scalar } => (*length).max(1) * scalar.bytes(),
            Self::Matrix {
                rows,
                columns,
                scalar,
            } => rows * columns * scalar.bytes(),
            Self::Quaternion(scalar) => 4 * scalar.bytes(),
            Self::Transform(scalar) => 7 * scalar.bytes(),
            Self::Array => ARRAY_BYTES,
            Self::Struct(fields) => {
                let end = Self::field_offsets(fields)
                    .last()
                    .map_or(1, |(offset, field)| offset + field.bytes());
                end.next_multiple_of(self.alignment())
            }
        }
    }

    /// Where each field of a structure starts.
    pub fn field_offsets(
        fields: &[ParameterType],
    ) -> impl Iterator<Item = (usize, &ParameterType)> {
        fields.iter().scan(0_usize, |end, field| {
            let offset = end.next_multiple_of(field.alignment());
            *end = offset + field.bytes();
            Some((offset, field))
        })
    }
}
