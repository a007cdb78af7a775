//! Arguments for a launch of a generated kernel, made from a seed.
//!
//! Arrays are as large as the grid; dimensions beyond it have [`EXTRA`] elements, which is what the
//! generator's loops stay within. Floats are in ±2 and integers below 100, as the generator assumes.

use warpsmith_compiler::ir::{Module, Number};
use warpsmith_compiler::{Scalar, Type, TypeId};
use warpsmith_interpreter::{Argument, ArrayArgument, f32_to_half};

use crate::random::Random;

/// Elements along a dimension that the grid has not.
pub(super) const EXTRA: usize = 16;

/// Where the scalars of an element lie.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    pub(super) scalars: Vec<(usize, Scalar)>,
    pub(super) bytes: usize,
    alignment: usize,
}

impl Layout {
    /// The layout of a value in memory, as C lays it out; `None` for what holds arrays.
    pub(super) fn of(module: &Module, ty: TypeId) -> Option<Self> {
        let plain = |count: usize, scalar: Scalar| {
            let width = width(scalar)?;
            Some(Self {
                scalars: (0..count).map(|n| (n * width, scalar)).collect(),
                bytes: count * width,
                alignment: width,
            })
        };
        match module.types.get(ty) {
            Type::Scalar(scalar) => plain(1, scalar),
            Type::Vector { length, scalar } => plain(length as usize, scalar),
            Type::Matrix { rows, cols, scalar } => plain((rows * cols) as usize, scalar),
            Type::Quat(scalar) => plain(4, scalar),
            Type::Transform(scalar) => plain(7, scalar),
            Type::Struct(id) => {
                let mut layout = Self {
                    alignment: 1,
                    ..Self::default()
                };
                for field in &module.types.struct_def(id).fields {
                    let part = Self::of(module, field.ty)?;
                    let start = layout.bytes.next_multiple_of(part.alignment);
                    let shifted = part.scalars.iter().map(|(at, s)| (start + at, *s));
                    layout.scalars.extend(shifted);
                    layout.bytes = start + part.bytes;
                    layout.alignment = layout.alignment.max(part.alignment);
                }
                layout.bytes = layout.bytes.next_multiple_of(layout.alignment);
                Some(layout)
            }
            _ => None,
        }
    }

    /// The type of all scalars, where elements are made of nothing else and have no gaps.
    pub(super) fn only_scalar(&self) -> Option<Scalar> {
        let (_, first) = *self.scalars.first()?;
        let same = self.scalars.iter().all(|(_, scalar)| *scalar == first);
        let dense = Some(self.bytes) == width(first).map(|width| width * self.scalars.len());
        (same && dense).then_some(first)
    }

    /// Whether every scalar is a float.
    pub(super) fn is_floating(&self) -> bool {
        !self.scalars.is_empty() && self.scalars.iter().all(|(_, scalar)| scalar.is_float())
    }
}

fn width(scalar: Scalar) -> Option<usize> {
    Some(match scalar {
        Scalar::Bool | Scalar::I8 | Scalar::U8 => 1,
        Scalar::I16 | Scalar::U16 | Scalar::F16 => 2,
        Scalar::I32 | Scalar::U32 | Scalar::F32 => 4,
        Scalar::I64 | Scalar::U64 | Scalar::F64 => 8,
        _ => return None,
    })
}

/// Random arguments for a launch over `dim`; `Err` names a parameter that cannot be made.
pub(super) fn arguments(
    module: &Module,
    dim: &[usize],
    random: &mut Random,
) -> Result<Vec<Argument>, String> {
    module
        .kernel
        .parameters()
        .map(|(_, variable)| argument(module, variable.ty, dim, random))
        .collect()
}

fn argument(
    module: &Module,
    ty: TypeId,
    dim: &[usize],
    random: &mut Random,
) -> Result<Argument, String> {
    let refuse = || {
        let name = module.types.describe(ty, &module.names);
        format!("a parameter of type {name}")
    };
    Ok(match module.types.get(ty) {
        Type::Array { element, rank } => {
            let layout = Layout::of(module, element).ok_or_else(refuse)?;
            let shape: Vec<usize> = (0..usize::from(rank))
                .map(|axis| dim.get(axis).copied().unwrap_or(EXTRA))
                .collect();
            let count: usize = shape.iter().product();
            let mut data = vec![0; count * layout.bytes];
            fill(&mut data, &layout, random);
            Argument::Array(ArrayArgument {
                shape,
                data,
                gradient: None,
            })
        }
        Type::Struct(id) => {
            let fields = &module.types.struct_def(id).fields;
            let fields: Result<_, _> = fields
                .iter()
                .map(|field| argument(module, field.ty, dim, random))
                .collect();
            Argument::Struct(fields?)
        }
        _ => {
            let layout = Layout::of(module, ty).ok_or_else(refuse)?;
            Argument::Value(
                layout
                    .scalars
                    .iter()
                    .map(|(_, scalar)| match scalar.is_float() {
                        true => Number::Float(unit(random)),
                        false => Number::Int(i128::from(random_bits(*scalar, random))),
                    })
                    .collect(),
            )
        }
    })
}

/// Fills elements with random scalars, in order.
fn fill(data: &mut [u8], layout: &Layout, random: &mut Random) {
    match layout.only_scalar() {
        // Most arrays: words one after the other, without a look at the layout for each.
        Some(Scalar::F32) => {
            for word in data.as_chunks_mut::<4>().0 {
                *word = (unit(random) as f32).to_le_bytes();
            }
        }
        Some(scalar @ (Scalar::I32 | Scalar::U32)) => {
            for word in data.as_chunks_mut::<4>().0 {
                *word = (random_bits(scalar, random) as u32).to_le_bytes();
            }
        }
        _ => {
            for element in data.chunks_exact_mut(layout.bytes) {
                for (offset, scalar) in &layout.scalars {
                    let bits = random_bits(*scalar, random);
                    write(&mut element[*offset..], *scalar, bits);
                }
            }
        }
    }
}

/// A float in ±2 with few digits, so that every type holds it exactly.
fn unit(random: &mut Random) -> f64 {
    (random.below(1025) as f64 - 512.0) / 256.0
}

fn random_bits(scalar: Scalar, random: &mut Random) -> u64 {
    match scalar {
        Scalar::Bool => random.below(2) as u64,
        Scalar::F16 => u64::from(f32_to_half(unit(random) as f32)),
        Scalar::F32 => u64::from((unit(random) as f32).to_bits()),
        Scalar::F64 => unit(random).to_bits(),
        _ => random.below(100) as u64,
    }
}

fn write(bytes: &mut [u8], scalar: Scalar, bits: u64) {
    let width = width(scalar).unwrap_or(0);
    bytes[..width].copy_from_slice(&bits.to_le_bytes()[..width]);
}

/// A float of an array, as a number; `None` for other types.
pub(super) fn read_float(bytes: &[u8], scalar: Scalar) -> Option<f64> {
    Some(match scalar {
        Scalar::F16 => f64::from(warpsmith_interpreter::half_to_f32(u16::from_le_bytes(
            bytes.first_chunk().copied()?,
        ))),
        Scalar::F32 => f64::from(f32::from_le_bytes(bytes.first_chunk().copied()?)),
        Scalar::F64 => f64::from_le_bytes(bytes.first_chunk().copied()?),
        _ => return None,
    })
}

/// An integer of an array; `None` for floats.
pub(super) fn read_integer(bytes: &[u8], scalar: Scalar) -> Option<i64> {
    let mut word = [0; 8];
    let width = width(scalar)?;
    word[..width].copy_from_slice(bytes.get(..width)?);
    let bits = u64::from_le_bytes(word);
    Some(match scalar {
        Scalar::I8 => i64::from(bits as u8 as i8),
        Scalar::I16 => i64::from(bits as u16 as i16),
        Scalar::I32 => i64::from(bits as u32 as i32),
        Scalar::F16 | Scalar::F32 | Scalar::F64 => return None,
        _ => bits as i64,
    })
}

/// Stores a float into an array.
pub(super) fn write_float(bytes: &mut [u8], scalar: Scalar, value: f64) {
    let bits = match scalar {
        Scalar::F16 => u64::from(f32_to_half(value as f32)),
        Scalar::F32 => u64::from((value as f32).to_bits()),
        _ => value.to_bits(),
    };
    write(bytes, scalar, bits);
}
