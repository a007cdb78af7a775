//! Packs arguments into the parameter buffer of a launch.

use super::layout::{ARRAY_BYTES, MAX_ARRAY_RANK, ParameterType};

/// An argument that cannot be packed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AbiError {
    /// As many arguments as parameters are needed, or twice as many with the adjoints.
    #[error("cannot pack the arguments: the kernel takes {expected}, {found} given")]
    ArgumentCount {
        /// How many the kernel takes.
        expected: usize,
        /// How many were given.
        found: usize,
    },
    /// The bytes or kind of an argument do not fit the parameter.
    #[error("cannot pack argument {index}: the parameter is {expected}, the argument is {found}")]
    Mismatch {
        /// Position among the arguments, from 0.
        index: usize,
        /// The parameter, in words.
        expected: String,
        /// The argument, in words.
        found: String,
    },
    /// Shapes and strides are 32-bit and have at most four dimensions.
    #[error("cannot pack an array of shape {shape:?}: {reason}")]
    Array {
        /// Its shape.
        shape: Vec<usize>,
        /// What does not fit.
        reason: &'static str,
    },
    /// A grid has one to four dimensions of 32 bits.
    #[error("cannot launch over a grid of {shape:?}: it must have 1 to 4 dimensions below 2^32")]
    Grid {
        /// Its shape.
        shape: Vec<usize>,
    },
}

/// A strided array in device memory; an address of 0 is "none".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArrayArgument {
    /// Device address of the first element.
    pub data: u64,
    /// Device address of the first element's gradient, laid out like the data.
    pub grad: u64,
    shape: Vec<i32>,
    strides: Vec<i32>,
}

impl ArrayArgument {
    /// A contiguous array, the last index varying fastest.
    ///
    /// # Errors
    /// More than four dimensions, or a size or stride that does not fit 32 bits.
    pub fn contiguous(
        data: u64,
        grad: u64,
        shape: &[usize],
        element_bytes: usize,
    ) -> Result<Self, AbiError> {
        let refuse = |reason| AbiError::Array {
            shape: shape.to_vec(),
            reason,
        };
        if shape.len() > MAX_ARRAY_RANK {
            return Err(refuse("more than 4 dimensions"));
        }
        let mut strides = vec![0; shape.len()];
        let mut stride = element_bytes;
        for (axis, &size) in shape.iter().enumerate().rev() {
            strides[axis] =
                i32::try_from(stride).map_err(|_| refuse("a stride does not fit 31 bits"))?;
            stride = stride
                .checked_mul(size)
                .ok_or_else(|| refuse("larger than memory"))?;
        }
        let sizes = shape
            .iter()
            .map(|&size| i32::try_from(size))
            .collect::<Result<_, _>>();
        Ok(Self {
            data,
            grad,
            shape: sizes.map_err(|_| refuse("a dimension does not fit 31 bits"))?,
            strides,
        })
    }

    /// The array with these distances between elements instead, in bytes.
    ///
    /// # Errors
    /// A distance that does not fit 32 bits, or not one for each dimension.
    pub fn with_strides(mut self, strides: &[i64]) -> Result<Self, AbiError> {
        let refuse = |reason| AbiError::Array {
            shape: self.shape.iter().map(|size| *size as usize).collect(),
            reason,
        };
        if strides.len() != self.shape.len() {
            return Err(refuse("not one stride for each dimension"));
        }
        let strides = strides
            .iter()
            .map(|stride| i32::try_from(*stride))
            .collect::<Result<_, _>>();
        self.strides = strides.map_err(|_| refuse("a stride does not fit 32 bits"))?;
        Ok(self)
    }

    fn bytes(&self) -> [u8; ARRAY_BYTES] {
        let mut bytes = [0; ARRAY_BYTES];
        bytes[0..8].copy_from_slice(&self.data.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.grad.to_ne_bytes());
        for (axis, (size, stride)) in self.shape.iter().zip(&self.strides).enumerate() {
            bytes[16 + 4 * axis..][..4].copy_from_slice(&size.to_ne_bytes());
            bytes[32 + 4 * axis..][..4].copy_from_slice(&stride.to_ne_bytes());
        }
        // At most 4, by construction.
        bytes[48..50].copy_from_slice(&(self.shape.len() as u16).to_ne_bytes());
        bytes
    }
}

/// One argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// The native bytes of a scalar, vector, matrix, quaternion or transform.
    Value(Vec<u8>),
    /// An array.
    Array(ArrayArgument),
    /// The fields of a structure.
    Struct(Vec<Argument>),
    /// Zero bytes of the parameter's type: an adjoint that nobody requested.
    Zero,
}

/// The launch grid: the shape over which `tid()` runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchBounds {
    shape: Vec<u32>,
    /// Threads that share each coordinate.
    shared: u64,
}

impl LaunchBounds {
    /// A grid of one to four dimensions.
    ///
    /// # Errors
    /// Any other number of dimensions, or one of 2^32 and more.
    pub fn new(shape: &[usize]) -> Result<Self, AbiError> {
        let refuse = || AbiError::Grid {
            shape: shape.to_vec(),
        };
        if !(1..=4).contains(&shape.len()) {
            return Err(refuse());
        }
        let shape = shape
            .iter()
            .map(|&size| u32::try_from(size))
            .collect::<Result<Vec<_>, _>>();
        let bounds = Self {
            shape: shape.map_err(|_| refuse())?,
            shared: 1,
        };
        bounds
            .shape
            .iter()
            .try_fold(1u64, |size, &n| size.checked_mul(n.into()))
            .ok_or_else(refuse)?;
        Ok(bounds)
    }

    /// The grid for a kernel that asks for `rank` coordinates: threads that differ in the dimensions behind
    /// them share theirs, and dimensions that are missing have one thread.
    ///
    /// # Errors
    /// As for [`LaunchBounds::new`].
    pub fn for_rank(shape: &[usize], rank: usize) -> Result<Self, AbiError> {
        let mut bounds = Self::new(shape)?;
        bounds.shared = bounds
            .shape
            .iter()
            .skip(rank)
            .map(|&n| u64::from(n))
            .product();
        bounds.shape.resize(rank.max(1), 1);
        Ok(bounds)
    }

    /// Number of threads with work.
    pub fn size(&self) -> u64 {
        self.shape.iter().map(|&n| u64::from(n)).product::<u64>() * self.shared
    }

    /// Blocks for one thread per element; the kernel's loop strides over what a grid cannot hold.
    pub fn blocks(&self, block_dim: u32) -> u32 {
        let blocks = self
            .size()
            .div_ceil(u64::from(block_dim.max(1)))
            .clamp(1, 0x7fff_ffff);
        u32::try_from(blocks).unwrap_or(0x7fff_ffff)
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.shape.iter().flat_map(|n| n.to_ne_bytes()).collect();
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes.extend(self.size().to_ne_bytes());
        bytes.extend(self.shared.to_ne_bytes());
        bytes
    }
}

/// The packed parameters of one launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentBuffer {
    bytes: Vec<u8>,
    offsets: Vec<usize>,
}

impl ArgumentBuffer {
    /// Packs the bounds and the arguments; with adjoints, those of the backward kernel.
    ///
    /// # Errors
    /// A number of arguments or an argument that the parameters do not allow.
    pub fn pack(
        bounds: &LaunchBounds,
        parameters: &[ParameterType],
        arguments: &[Argument],
        adjoints: Option<&[Argument]>,
    ) -> Result<Self, AbiError> {
        let mut buffer = Self {
            bytes: bounds.bytes(),
            offsets: vec![0],
        };
        for given in [Some(arguments), adjoints].into_iter().flatten() {
            if given.len() != parameters.len() {
                return Err(AbiError::ArgumentCount {
                    expected: parameters.len(),
                    found: given.len(),
                });
            }
            for (index, (parameter, argument)) in parameters.iter().zip(given).enumerate() {
                let offset = buffer.bytes.len().next_multiple_of(parameter.alignment());
                buffer.offsets.push(offset);
                buffer.bytes.resize(offset + parameter.bytes(), 0);
                write(&mut buffer.bytes[offset..], parameter, argument, index)?;
            }
        }
        Ok(buffer)
    }

    /// The whole parameter buffer, as for `CU_LAUNCH_PARAM_BUFFER_POINTER`.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where each parameter starts: bounds first, then arguments, then adjoints.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }
}

fn write(
    target: &mut [u8],
    parameter: &ParameterType,
    argument: &Argument,
    index: usize,
) -> Result<(), AbiError> {
    match (parameter, argument) {
        (_, Argument::Zero) => {}
        (ParameterType::Array, Argument::Array(array)) => {
            target[..ARRAY_BYTES].copy_from_slice(&array.bytes())
        }
        (ParameterType::Struct(fields), Argument::Struct(values))
            if fields.len() == values.len() =>
        {
            for ((offset, field), value) in ParameterType::field_offsets(fields).zip(values) {
                write(&mut target[offset..], field, value, index)?;
            }
        }
        (ParameterType::Array | ParameterType::Struct(_), _) => {
            return Err(mismatch(parameter, argument, index));
        }
        (_, Argument::Value(bytes)) if bytes.len() == parameter.bytes() => {
            target[..bytes.len()].copy_from_slice(bytes)
        }
        _ => return Err(mismatch(parameter, argument, index)),
    }
    Ok(())
}

fn mismatch(parameter: &ParameterType, argument: &Argument, index: usize) -> AbiError {
    let expected = match parameter {
        ParameterType::Array => "an array".to_owned(),
        ParameterType::Struct(fields) => format!("a structure of {} fields", fields.len()),
        value => format!("a value of {} bytes", value.bytes()),
    };
    let found = match argument {
        Argument::Value(bytes) => format!("a value of {} bytes", bytes.len()),
        Argument::Array(_) => "an array".to_owned(),
        Argument::Struct(values) => format!("a structure of {} fields", values.len()),
        Argument::Zero => "zero".to_owned(),
    };
    AbiError::Mismatch {
        index,
        expected,
        found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch_abi::ScalarType;

    #[test]
    fn a_scalar_after_a_byte_is_aligned() {
        let bounds = LaunchBounds::new(&[7]).unwrap();
        let parameters = [
            ParameterType::Scalar(ScalarType::Bool),
            ParameterType::Scalar(ScalarType::Float64),
        ];
        let arguments = [
            Argument::Value(vec![1]),
            Argument::Value(2.5f64.to_ne_bytes().to_vec()),
        ];
        let buffer = ArgumentBuffer::pack(&bounds, &parameters, &arguments, None).unwrap();
        assert_eq!(buffer.offsets(), [0, 24, 32]);
        assert_eq!(buffer.bytes()[0..4], 7u32.to_ne_bytes());
        assert_eq!(buffer.bytes()[8..16], 7u64.to_ne_bytes());
        assert_eq!(buffer.bytes()[32..40], 2.5f64.to_ne_bytes());
    }

    #[test]
    fn dimensions_behind_the_rank_are_shared_threads() {
        let bounds = LaunchBounds::for_rank(&[4, 3, 64], 2).unwrap();
        let bytes = bounds.bytes();
        assert_eq!(bounds.size(), 768);
        assert_eq!(bytes[..8], [4, 0, 0, 0, 3, 0, 0, 0]);
        assert_eq!(bytes[8..16], 768u64.to_ne_bytes());
        assert_eq!(bytes[16..], 64u64.to_ne_bytes());
        let padded = LaunchBounds::for_rank(&[5], 2).unwrap();
        assert_eq!(padded.bytes()[..8], [5, 0, 0, 0, 1, 0, 0, 0]);
    }

    #[test]
    fn adjoints_follow_the_arguments() {
        let bounds = LaunchBounds::new(&[3, 4]).unwrap();
        let array = ArrayArgument::contiguous(0x1000, 0x2000, &[3, 4], 4).unwrap();
        let buffer = ArgumentBuffer::pack(
            &bounds,
            &[ParameterType::Array],
            &[Argument::Array(array)],
            Some(&[Argument::Zero]),
        )
        .unwrap();
        assert_eq!(buffer.offsets(), [0, 24, 80]);
        assert_eq!(buffer.bytes().len(), 136);
        assert_eq!(
            buffer.bytes()[24 + 32..24 + 40],
            [16i32.to_ne_bytes(), 4i32.to_ne_bytes()].concat()
        );
        assert!(buffer.bytes()[80..].iter().all(|&byte| byte == 0));
    }

    #[test]
    fn a_value_of_another_size_is_refused() {
        let bounds = LaunchBounds::new(&[1]).unwrap();
        let parameters = [ParameterType::Scalar(ScalarType::Int32)];
        let refused =
            ArgumentBuffer::pack(&bounds, &parameters, &[Argument::Value(vec![0; 8])], None);
        assert!(matches!(refused, Err(AbiError::Mismatch { index: 0, .. })));
    }

    #[test]
    fn a_grid_has_one_to_four_dimensions() {
        assert!(LaunchBounds::new(&[]).is_err());
        assert!(LaunchBounds::new(&[1; 5]).is_err());
        assert!(LaunchBounds::new(&[1 << 32]).is_err());
        assert_eq!(LaunchBounds::new(&[1000]).unwrap().blocks(256), 4);
    }
}
