//! Random arguments for a kernel: every array as long as the grid in each dimension, small values of
//! both signs, so that most kernels stay inside their arrays and most functions inside their domain.

use warpsmith_compiler::ir::{Module, Number};
use warpsmith_compiler::launch_abi::{ParameterType, ScalarType};
use warpsmith_compiler::{Argument, ArrayArgument};
use warpsmith_compiler::{Type, TypeId, f32_to_bfloat16, f32_to_half};

use crate::parameter::{parameter_type, scalars};

/// Arguments that follow from `seed`; floating-point arrays carry gradients. `Err` names a parameter
/// that cannot be made.
pub fn random_arguments(module: &Module, size: usize, seed: u64) -> Result<Vec<Argument>, String> {
    let mut random = SplitMix(seed);
    let kernel = &module.kernel;
    kernel.vars[..kernel.params as usize]
        .iter()
        .map(|var| argument(module, var.ty, size, &mut random))
        .collect()
}

fn argument(
    module: &Module,
    ty: TypeId,
    size: usize,
    random: &mut SplitMix,
) -> Result<Argument, String> {
    Ok(match module.types.get(ty) {
        Type::Array { element, rank } => {
            let element = parameter_type(module, element)?;
            Argument::Array(array(&element, rank, size, random))
        }
        Type::Struct(id) => {
            let fields = &module.types.struct_def(id).fields;
            let fields: Result<_, _> = fields
                .iter()
                .map(|field| argument(module, field.ty, size, random))
                .collect();
            Argument::Struct(fields?)
        }
        _ => {
            let ty = parameter_type(module, ty)?;
            let mut places = Vec::new();
            scalars(&ty, 0, &mut places);
            Argument::Value(
                places
                    .iter()
                    .map(|&(_, scalar)| random.number(scalar, size))
                    .collect(),
            )
        }
    })
}

fn array(element: &ParameterType, rank: u8, size: usize, random: &mut SplitMix) -> ArrayArgument {
    let shape = vec![size; usize::from(rank)];
    let count: usize = shape.iter().product();
    let mut places = Vec::new();
    scalars(element, 0, &mut places);
    let mut fill = |gradients: bool| {
        let mut bytes = vec![0; count * element.bytes()];
        for element_bytes in bytes.chunks_exact_mut(element.bytes()) {
            for &(offset, scalar) in &places {
                let value = match gradients {
                    true => Number::Float(random.unit() * 2.0 - 1.0),
                    false => random.number(scalar, size),
                };
                write(&mut element_bytes[offset..], scalar, value);
            }
        }
        bytes
    };
    let data = fill(false);
    let floating = places.iter().all(|(_, scalar)| is_floating(*scalar)) && !places.is_empty();
    ArrayArgument {
        shape,
        data,
        gradient: floating.then(|| fill(true)),
    }
}

fn is_floating(scalar: ScalarType) -> bool {
    use ScalarType::{Bfloat16, Float16, Float32, Float64};
    matches!(scalar, Float16 | Bfloat16 | Float32 | Float64)
}

fn write(bytes: &mut [u8], scalar: ScalarType, value: Number) {
    let (whole, real) = match value {
        Number::Int(value) => (value as i64, value as f64),
        Number::Float(value) => (value as i64, value),
    };
    let width = scalar.bytes();
    let bits = match scalar {
        ScalarType::Float16 => u64::from(f32_to_half(real as f32)),
        ScalarType::Bfloat16 => u64::from(f32_to_bfloat16(real as f32)),
        ScalarType::Float32 => u64::from((real as f32).to_bits()),
        ScalarType::Float64 => real.to_bits(),
        _ => whole as u64,
    };
    bytes[..width].copy_from_slice(&bits.to_le_bytes()[..width]);
}

/// Sebastiano Vigna's SplitMix64: a seed gives the same arguments everywhere.
struct SplitMix(u64);

impl SplitMix {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Floats in ±2, whole numbers that are valid indices, truth values.
    fn number(&mut self, scalar: ScalarType, size: usize) -> Number {
        if scalar == ScalarType::Bool {
            return Number::Int(i128::from(self.bits() & 1));
        }
        if is_floating(scalar) {
            return Number::Float(self.unit() * 4.0 - 2.0);
        }
        let bound = size.clamp(1, 100) as u64;
        Number::Int(i128::from(self.bits() % bound))
    }
}
