//! Kernel arguments, checked against the kernel's signature before every launch.
//!
//! Invariant: what [`PackedArguments`] holds is exactly what the kernel's parameters say: a buffer
//! is a pointer and a length, of the right element type, writable where the kernel writes, in the
//! same context.

use std::any::Any;
use std::ffi::c_void;
use std::sync::Arc;

use warpsmith_core::{Element, Parameter};

use super::buffer::Memory;
use super::context::Context;
use super::host_flag::HostFlag;
use super::host_words::HostWords;
use super::kernel::Kernel;
use super::mapped::Mapped;
use super::tiled_matrix::TensorMap;
use crate::error::DeviceError;

/// A type that device buffers hold.
///
/// # Safety
/// Every bit pattern of `size_of::<Self>()` bytes is a valid value, and `ELEMENT` is the type that
/// kernels see it as.
pub unsafe trait DeviceElement: Copy + Send + Sync + 'static {
    /// What kernels see it as.
    const ELEMENT: Element;
    /// All bits zero.
    const ZERO: Self;
}

/// One argument of a launch.
#[derive(Clone, Copy)]
pub struct Argument<'a>(Kind<'a>);

#[derive(Clone, Copy)]
enum Kind<'a> {
    Buffer {
        memory: &'a Arc<Memory>,
        length: usize,
        element: Element,
        writable: bool,
    },
    Mapped {
        memory: &'a Arc<Mapped>,
        length: usize,
        element: Element,
    },
    Flag(&'a HostFlag),
    Words(&'a HostWords),
    Tiled {
        map: &'a TensorMap,
        memory: &'a Arc<Memory>,
        element: Element,
        tile: [u32; 2],
    },
    Value {
        bits: u64,
        element: Element,
    },
}

macro_rules! device_elements {
    ($($rust:ty => $element:ident, $bits:expr;)*) => {$(
        // SAFETY: a plain number: every bit pattern is valid, and the device has the same type.
        unsafe impl DeviceElement for $rust {
            const ELEMENT: Element = Element::$element;
            const ZERO: Self = 0 as $rust;
        }

        impl From<$rust> for Argument<'_> {
            fn from(value: $rust) -> Self {
                let bits: fn($rust) -> u64 = $bits;
                Self(Kind::Value { bits: bits(value), element: Element::$element })
            }
        }
    )*};
}
device_elements! {
    u8 => U8, u64::from;
    i8 => I8, |value| u64::from(value.cast_unsigned());
    u16 => U16, u64::from;
    i16 => I16, |value| u64::from(value.cast_unsigned());
    u32 => U32, u64::from;
    i32 => I32, |value| u64::from(value.cast_unsigned());
    u64 => U64, |value| value;
    i64 => I64, i64::cast_unsigned;
    f32 => F32, |value| u64::from(value.to_bits());
    f64 => F64, f64::to_bits;
}

impl<'a> Argument<'a> {
    pub(super) fn buffer<T: DeviceElement>(
        memory: &'a Arc<Memory>,
        length: usize,
        writable: bool,
    ) -> Self {
        Self(Kind::Buffer {
            memory,
            length,
            element: T::ELEMENT,
            writable,
        })
    }

    pub(super) fn mapped<T: DeviceElement>(memory: &'a Arc<Mapped>, length: usize) -> Self {
        Self(Kind::Mapped {
            memory,
            length,
            element: T::ELEMENT,
        })
    }

    pub(super) fn flag(flag: &'a HostFlag) -> Self {
        Self(Kind::Flag(flag))
    }

    pub(super) fn words(words: &'a HostWords) -> Self {
        Self(Kind::Words(words))
    }

    pub(super) fn tiled(
        map: &'a TensorMap,
        memory: &'a Arc<Memory>,
        element: Element,
        tile: [u32; 2],
    ) -> Self {
        Self(Kind::Tiled {
            map,
            memory,
            element,
            tile,
        })
    }

    pub(super) fn memory(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        match self.0 {
            Kind::Buffer { memory, .. } | Kind::Tiled { memory, .. } => {
                Some(Arc::clone(memory) as _)
            }
            Kind::Mapped { memory, .. } => Some(Arc::clone(memory) as _),
            Kind::Flag(_) | Kind::Words(_) | Kind::Value { .. } => None,
        }
    }
}

/// Grid, block and dynamic shared memory of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchShape {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block in bytes.
    pub shared_bytes: u32,
}

impl LaunchShape {
    /// Enough blocks of `threads` for one thread per element, at least one. Where that would be
    /// more than a grid can have, the kernel must stride.
    pub fn linear(elements: usize, threads: u32) -> Self {
        let blocks = elements
            .div_ceil(threads.max(1) as usize)
            .clamp(1, i32::MAX as usize);
        Self {
            grid: [blocks as u32, 1, 1],
            block: [threads, 1, 1],
            shared_bytes: 0,
        }
    }
}

/// More than any kernel of ours has; the driver's limit is in bytes, about a thousand of these.
const MOST: usize = 64;

/// Arguments laid out for the driver.
pub(super) struct PackedArguments {
    // `pointers` point into `values`, so the struct is built in place and not moved after.
    values: [u64; MOST],
    pointers: [*mut c_void; MOST],
    /// Where each of the kernel's values begins.
    starts: [usize; MOST],
    count: usize,
    used: usize,
}

impl PackedArguments {
    pub(super) fn check(
        kernel: &Kernel,
        context: &Arc<Context>,
        shape: LaunchShape,
        arguments: &[Argument<'_>],
    ) -> Result<Self, DeviceError> {
        let bad = |problem: String| DeviceError::BadLaunch {
            kernel: kernel.entry().into(),
            problem,
        };
        let parameters = kernel.parameters();
        if arguments.len() != parameters.len() {
            let (given, wanted) = (arguments.len(), parameters.len());
            return Err(bad(format!("{given} arguments, the kernel takes {wanted}")));
        }
        if shape.grid.contains(&0) || shape.block.contains(&0) {
            return Err(bad(format!("an empty grid or block: {shape:?}")));
        }
        let mut packed = Self::empty();
        for (index, (argument, parameter)) in arguments.iter().zip(parameters).enumerate() {
            let words = match argument.0 {
                Kind::Tiled { .. } => TensorMap::WORDS,
                _ => 2,
            };
            if packed.used + words > MOST {
                return Err(bad(format!("more than {MOST} values")));
            }
            match (argument.0, *parameter) {
                (Kind::Value { bits, element }, Parameter::Value(wanted)) if element == wanted => {
                    packed.push(&[bits]);
                }
                (
                    Kind::Buffer {
                        memory,
                        length,
                        element,
                        writable,
                    },
                    parameter,
                ) if parameter == Parameter::In(element)
                    || (writable && parameter == Parameter::Out(element)) =>
                {
                    if !Arc::ptr_eq(&memory.context, context) {
                        return Err(bad(format!("argument {index} lies on another device")));
                    }
                    packed.push(&[memory.pointer]);
                    packed.push(&[length as u64]);
                }
                (
                    Kind::Mapped {
                        memory,
                        length,
                        element,
                    },
                    parameter,
                ) if parameter == Parameter::Out(element) => {
                    if !Arc::ptr_eq(memory.context(), context) {
                        return Err(bad(format!("argument {index} lies on another device")));
                    }
                    packed.push(&[memory.pointer()]);
                    packed.push(&[length as u64]);
                }
                (Kind::Flag(flag), Parameter::In(Element::U32)) => {
                    if !Arc::ptr_eq(flag.context(), context) {
                        return Err(bad(format!("argument {index} lies on another device")));
                    }
                    packed.push(&[flag.pointer()]);
                    packed.push(&[1]);
                }
                (Kind::Words(words), Parameter::Out(Element::U64)) => {
                    if !Arc::ptr_eq(words.context(), context) {
                        return Err(bad(format!("argument {index} lies on another device")));
                    }
                    packed.push(&[words.pointer()]);
                    packed.push(&[words.len() as u64]);
                }
                (
                    Kind::Tiled {
                        map,
                        memory,
                        element,
                        tile,
                    },
                    parameter,
                ) if parameter == Parameter::Tiled(element, tile) => {
                    if !Arc::ptr_eq(&memory.context, context) {
                        return Err(bad(format!("argument {index} lies on another device")));
                    }
                    packed.push(map.words());
                }
                (given, wanted) => {
                    return Err(bad(format!(
                        "argument {index} is {}, the kernel takes {wanted:?}",
                        given.describe()
                    )));
                }
            }
        }
        Ok(packed)
    }

    fn empty() -> Self {
        Self {
            values: [0; MOST],
            pointers: [std::ptr::null_mut(); MOST],
            starts: [0; MOST],
            count: 0,
            used: 0,
        }
    }

    /// One more value of the kernel, of one word or more.
    fn push(&mut self, words: &[u64]) {
        self.values[self.used..][..words.len()].copy_from_slice(words);
        self.starts[self.count] = self.used;
        self.used += words.len();
        self.count += 1;
    }

    /// One pointer per value, in order. Valid while `self` is neither moved nor dropped.
    pub(super) fn pointers(&mut self) -> *mut *mut c_void {
        for (pointer, start) in self.pointers.iter_mut().zip(&self.starts[..self.count]) {
            // Scalars narrower than 64 bits are read from the low end: CUDA hosts are little-endian.
            *pointer = self.values[*start..].as_mut_ptr().cast();
        }
        self.pointers.as_mut_ptr()
    }
}

impl Kind<'_> {
    fn describe(&self) -> String {
        match self {
            Self::Value { element, .. } => format!("a value of {element:?}"),
            Self::Mapped { element, .. } => format!("a mapped buffer of {element:?}"),
            Self::Flag(_) => "a host flag".to_owned(),
            Self::Words(_) => "host words".to_owned(),
            Self::Tiled { element, tile, .. } => {
                format!("a matrix of {element:?} in tiles of {tile:?}")
            }
            Self::Buffer {
                element,
                writable: true,
                ..
            } => format!("a writable buffer of {element:?}"),
            Self::Buffer { element, .. } => format!("a read-only buffer of {element:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_shape_covers_every_element() {
        assert_eq!(LaunchShape::linear(0, 256).grid, [1, 1, 1]);
        assert_eq!(LaunchShape::linear(256, 256).grid, [1, 1, 1]);
        assert_eq!(LaunchShape::linear(257, 256).grid, [2, 1, 1]);
        assert_eq!(LaunchShape::linear(usize::MAX, 1).grid[0], i32::MAX as u32);
    }

    #[test]
    fn narrow_values_keep_their_bits() {
        let bits = |argument: Argument<'static>| match argument.0 {
            Kind::Value { bits, .. } => bits,
            _ => unreachable!(),
        };
        assert_eq!(bits((-1i8).into()), 0xFF);
        assert_eq!(bits((-2i32).into()), 0xFFFF_FFFE);
        assert_eq!(bits(1.0f32.into()), 0x3F80_0000);
    }

    #[test]
    fn a_value_of_many_words_has_one_pointer() {
        let mut packed = PackedArguments::empty();
        for words in [&[7][..], &[1; TensorMap::WORDS], &[9]] {
            packed.push(words);
        }
        packed.pointers();
        let first = packed.values.as_ptr();
        for (pointer, start) in packed.pointers.iter().zip([0, 1, 1 + TensorMap::WORDS]) {
            assert_eq!(pointer.cast_const().cast(), first.wrapping_add(start));
        }
        assert!(packed.pointers[3].is_null());
        assert_eq!(packed.values[1 + TensorMap::WORDS], 9);
    }
}
