//! Whether two runs left the same numbers in their arguments.

use std::fmt;

use serde::Serialize;
use warpsmith_compiler::ir::Module;
use warpsmith_compiler::launch_abi::ScalarType;
use warpsmith_compiler::{Scalar, Type, TypeId};
use warpsmith_interpreter::Argument;
use warpsmith_interpreter::{bfloat16_to_f32, half_to_f32};

use crate::conditioning::ALLOWED_MOVES;
use crate::parameter::{parameter_type, scalars};

/// The first number that is not the same.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The parameter, and whether it is its gradient.
    pub place: String,
    /// Which scalar of it.
    pub index: usize,
    /// On the device.
    pub actual: f64,
    /// In the interpreter.
    pub expected: f64,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, element {}: {} on the device, {} interpreted",
            self.place, self.index, self.actual, self.expected
        )
    }
}

/// Relative and absolute bound for a type: GPU and CPU round functions like `sin` and `pow`
/// differently by a few units, and chains of operations add up. The 16-bit types are rounded after
/// every operation by the interpreter and after every function by the GPU, and sums of them in another
/// order lose their last bits. Integers are equal or wrong.
fn bound(scalar: ScalarType, narrow: bool) -> f64 {
    match scalar {
        ScalarType::Float64 if narrow => bound(ScalarType::Float32, narrow),
        ScalarType::Float16 => 5e-2,
        ScalarType::Bfloat16 => 1e-1,
        // As the interpreter is compared with Warp's CPU: random matrices are inverted, and noise is
        // differentiated by differences over a thousandth.
        ScalarType::Float32 => 5e-4,
        ScalarType::Float64 => 1e-9,
        _ => 0.0,
    }
}

/// The first difference between the arguments of two runs of the same kernel; `None` where they
/// agree. Numbers that are NaN or infinite on both sides agree here: random inputs leave the domain
/// of many functions, and what both sides then say is the same.
pub fn compare_arguments(
    module: &Module,
    actual: &[Argument],
    expected: &[Argument],
) -> Option<Difference> {
    compare_conditioned(module, actual, expected, &[])
}

/// The same with a number allowed to be off by some of the largest movements that `moved` shows: the
/// results of the kernel on inputs that differ from the given ones in their last bits.
pub(crate) fn compare_conditioned(
    module: &Module,
    actual: &[Argument],
    expected: &[Argument],
    moved: &[Vec<Argument>],
) -> Option<Difference> {
    let closeness = Closeness::Within {
        narrow: computes_in_float32(module),
    };
    compare_all(module, closeness, actual, expected, moved)
}

/// The first scalar whose bits are not the same; NaN is NaN, whatever its bits.
pub(crate) fn compare_bits(
    module: &Module,
    actual: &[Argument],
    expected: &[Argument],
) -> Option<Difference> {
    compare_all(module, Closeness::Bits, actual, expected, &[])
}

/// What counts as the same.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Closeness {
    Bits,
    /// Within the bound of the type; `narrow` where `float64` may be no more exact than `float32`.
    Within {
        narrow: bool,
    },
}

fn compare_all(
    module: &Module,
    closeness: Closeness,
    actual: &[Argument],
    expected: &[Argument],
    moved: &[Vec<Argument>],
) -> Option<Difference> {
    let kernel = &module.kernel;
    let vars = &kernel.vars[..kernel.params as usize];
    vars.iter().enumerate().find_map(|(index, var)| {
        let name = var.name.map_or("", |name| module.names.get(name));
        let moved: Vec<&Argument> = moved.iter().filter_map(|run| run.get(index)).collect();
        let (actual, expected) = (actual.get(index)?, expected.get(index)?);
        compare(module, closeness, var.ty, name, actual, expected, &moved)
    })
}

/// Whether any value is a `float32`: then a `float64` may be no more exact than one.
fn computes_in_float32(module: &Module) -> bool {
    let functions = module.functions.iter().chain([&module.kernel]);
    functions
        .flat_map(|function| &function.vars)
        .any(|var| module.types.scalar_of(var.ty) == Some(Scalar::F32))
}

fn compare(
    module: &Module,
    closeness: Closeness,
    ty: TypeId,
    name: &str,
    actual: &Argument,
    expected: &Argument,
    moved: &[&Argument],
) -> Option<Difference> {
    match (actual, expected, module.types.get(ty)) {
        (
            Argument::Array(actual),
            Argument::Array(expected),
            Type::Array { element, .. } | Type::MappedArray { element, .. },
        ) => {
            let ty = parameter_type(module, element).ok()?;
            let mut places = Vec::new();
            scalars(&ty, 0, &mut places);
            let places: Vec<(usize, ScalarType, Option<f64>)> = places
                .into_iter()
                .map(|(offset, scalar)| {
                    let allowed = match closeness {
                        Closeness::Bits => None,
                        Closeness::Within { narrow } => Some(bound(scalar, narrow)),
                    };
                    (offset, scalar, allowed)
                })
                .collect();
            let width = ty.bytes();
            let arrays = || {
                moved.iter().filter_map(|argument| match argument {
                    Argument::Array(array) => Some(array),
                    _ => None,
                })
            };
            let near: Vec<&[u8]> = arrays().map(|array| &array.data[..]).collect();
            let data = first_difference(&places, width, &actual.data, &expected.data, &near);
            let found = data
                .map(|difference| (name.to_owned(), difference))
                .or_else(|| {
                    let (actual, expected) =
                        (actual.gradient.as_ref()?, expected.gradient.as_ref()?);
                    let near: Vec<&[u8]> = arrays()
                        .filter_map(|array| array.gradient.as_deref())
                        .collect();
                    let difference = first_difference(&places, width, actual, expected, &near)?;
                    Some((format!("gradient of {name}"), difference))
                });
            found.map(|(place, (index, actual, expected))| Difference {
                place,
                index,
                actual,
                expected,
            })
        }
        // Kernels write to the array, not to the lists of indices behind it.
        (Argument::Struct(actual), Argument::Struct(expected), Type::MappedArray { .. }) => {
            let moved: Vec<&Argument> = moved
                .iter()
                .filter_map(|argument| match argument {
                    Argument::Struct(values) => values.first(),
                    _ => None,
                })
                .collect();
            let (actual, expected) = (actual.first()?, expected.first()?);
            compare(module, closeness, ty, name, actual, expected, &moved)
        }
        (Argument::Struct(actual), Argument::Struct(expected), Type::Struct(id)) => {
            let fields = &module.types.struct_def(id).fields;
            fields.iter().enumerate().find_map(|(index, field)| {
                let name = format!("{name}.{}", module.names.get(field.name));
                let moved: Vec<&Argument> = moved
                    .iter()
                    .filter_map(|argument| match argument {
                        Argument::Struct(values) => values.get(index),
                        _ => None,
                    })
                    .collect();
                let (actual, expected) = (actual.get(index)?, expected.get(index)?);
                compare(module, closeness, field.ty, &name, actual, expected, &moved)
            })
        }
        _ => None,
    }
}

fn first_difference(
    places: &[(usize, ScalarType, Option<f64>)],
    width: usize,
    actual: &[u8],
    expected: &[u8],
    near: &[&[u8]],
) -> Option<(usize, f64, f64)> {
    let elements = actual.chunks_exact(width).zip(expected.chunks_exact(width));
    for (position, (actual, expected)) in elements.enumerate() {
        for (place, &(offset, scalar, bound)) in places.iter().enumerate() {
            let (a, e) = (
                read(&actual[offset..], scalar),
                read(&expected[offset..], scalar),
            );
            let movement = || {
                let start = position * width + offset;
                let moved = near.iter().filter_map(|bytes| bytes.get(start..));
                moved
                    .map(|bytes| (read(bytes, scalar) - e).abs())
                    .fold(0.0, f64::max)
            };
            let off = (a - e).abs();
            let Some(bound) = bound else {
                let bytes = offset..offset + scalar.bytes();
                let same = actual[bytes.clone()] == expected[bytes] || (a.is_nan() && e.is_nan());
                if same {
                    continue;
                }
                return Some((position * places.len() + place, a, e));
            };
            let same = a == e
                || (!a.is_finite() && !e.is_finite())
                || off <= bound * e.abs().max(1.0)
                || (bound > 0.0 && off <= ALLOWED_MOVES * movement());
            if !same {
                return Some((position * places.len() + place, a, e));
            }
        }
    }
    None
}

/// The number that begins `bytes`.
pub(crate) fn read(bytes: &[u8], scalar: ScalarType) -> f64 {
    let mut word = [0; 8];
    word[..scalar.bytes()].copy_from_slice(&bytes[..scalar.bytes()]);
    let bits = u64::from_le_bytes(word);
    match scalar {
        ScalarType::Bool | ScalarType::Uint8 | ScalarType::Uint16 | ScalarType::Uint32 => {
            bits as f64
        }
        ScalarType::Uint64 => bits as f64,
        ScalarType::Int8 => f64::from(bits as u8 as i8),
        ScalarType::Int16 => f64::from(bits as u16 as i16),
        ScalarType::Int32 => f64::from(bits as u32 as i32),
        ScalarType::Int64 => bits as i64 as f64,
        ScalarType::Float16 => f64::from(half_to_f32(bits as u16)),
        ScalarType::Bfloat16 => f64::from(bfloat16_to_f32(bits as u16)),
        ScalarType::Float32 => f64::from(f32::from_bits(bits as u32)),
        ScalarType::Float64 => f64::from_bits(bits),
    }
}
