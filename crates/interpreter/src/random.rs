//! Random arguments for a kernel: small values of both signs in arrays that cover the grid, so that most
//! kernels stay inside their arrays and most functions inside their domain.

use std::ops::Range;

use super::argument::{Argument, ArrayArgument};
use super::layout::{Layout, scalar_bytes};
use super::memory::write_bytes;
use warpsmith_ir::types::{Scalar, Type, TypeId};
use warpsmith_ir::{Module, Number};

/// The most elements along a dimension that the grid does not have, where arrays have one, two or three
/// such: 64 elements a thread are enough.
const MOST_INNER: [usize; 4] = [16, 16, 8, 4];

/// Arguments for a launch over the grid `dim`; the same `seed` gives the same arguments everywhere.
///
/// Arrays are as long as the grid along each of its dimensions, and at most 16 long along further ones
/// (fewer where there are several).
/// Floating-point numbers lie in ±2, whole numbers are valid indices of every array, and arrays whose
/// elements are floating-point numbers throughout carry gradients.
///
/// # Errors
/// The name of a parameter that cannot be made, and why.
pub fn random_arguments(
    module: &Module,
    dim: &[usize],
    seed: u64,
) -> Result<Vec<Argument>, String> {
    make(module, dim, seed, 0..u64::MAX)
}

/// As [`random_arguments`], without integers that are zero, which may be divisors.
///
/// # Errors
/// As there.
pub fn random_arguments_without_zeros(
    module: &Module,
    dim: &[usize],
    seed: u64,
) -> Result<Vec<Argument>, String> {
    make(module, dim, seed, 1..u64::MAX)
}

/// As [`random_arguments`], with integers that are one: kernels that assert something about theirs often
/// assert that.
///
/// # Errors
/// As there.
pub fn random_arguments_with_ones(
    module: &Module,
    dim: &[usize],
    seed: u64,
) -> Result<Vec<Argument>, String> {
    make(module, dim, seed, 1..2)
}

fn make(
    module: &Module,
    dim: &[usize],
    seed: u64,
    integers: Range<u64>,
) -> Result<Vec<Argument>, String> {
    let shortest = dim.iter().copied().min().unwrap_or(1);
    let further = highest_rank(module).saturating_sub(dim.len()).min(3);
    let mut maker = Maker {
        module,
        dim,
        inner: shortest.clamp(1, MOST_INNER[further]),
        integers,
        random: SplitMix(seed),
    };
    let parameters = module.kernel.parameters();
    parameters
        .map(|(_, variable)| {
            let name = variable.name.map_or("", |name| module.names.get(name));
            maker.argument(variable.ty).ok_or_else(|| {
                let ty = module.types.describe(variable.ty, &module.names);
                format!("`{name}` is {ty}, which cannot be made at random")
            })
        })
        .collect()
}

/// The most dimensions that an array among the parameters has.
fn highest_rank(module: &Module) -> usize {
    fn of(module: &Module, ty: TypeId) -> usize {
        match module.types.get(ty) {
            Type::Array { rank, .. } | Type::MappedArray { rank, .. } => usize::from(rank),
            Type::Struct(id) => {
                let fields = &module.types.struct_def(id).fields;
                let ranks = fields.iter().map(|field| of(module, field.ty));
                ranks.max().unwrap_or(0)
            }
            _ => 0,
        }
    }
    let parameters = module.kernel.parameters();
    let ranks = parameters.map(|(_, variable)| of(module, variable.ty));
    ranks.max().unwrap_or(0)
}

struct Maker<'m> {
    module: &'m Module,
    dim: &'m [usize],
    /// Elements along dimensions that the grid does not have.
    inner: usize,
    /// What integers are taken from.
    integers: Range<u64>,
    random: SplitMix,
}

impl Maker<'_> {
    fn argument(&mut self, ty: TypeId) -> Option<Argument> {
        Some(match self.module.types.get(ty) {
            Type::Array { element, rank } => {
                let layout = Layout::of(self.module, element);
                // The numbers of textures name objects.
                let names_objects = matches!(self.module.types.get(element), Type::Query(_));
                if layout.holds_array || names_objects {
                    return None;
                }
                Argument::Array(self.array(&layout, usize::from(rank)))
            }
            Type::MappedArray {
                mapping,
                element,
                rank,
            } => {
                let layout = Layout::of(self.module, element);
                if layout.holds_array {
                    return None;
                }
                // Warp adds nothing to the gradients of such arrays.
                let array = ArrayArgument {
                    gradient: None,
                    ..self.array(&layout, usize::from(rank))
                };
                let lists = mapping.index_lists(rank);
                if lists == 0 {
                    return Some(Argument::Array(array));
                }
                let lists: Vec<Argument> = array.shape[..lists]
                    .iter()
                    .map(|size| Argument::Array(self.permutation(*size)))
                    .collect();
                Argument::Struct([vec![Argument::Array(array)], lists].concat())
            }
            Type::Struct(id) => {
                let fields = &self.module.types.struct_def(id).fields;
                let fields: Option<Vec<Argument>> =
                    fields.iter().map(|field| self.argument(field.ty)).collect();
                Argument::Struct(fields?)
            }
            Type::Scalar(_)
            | Type::Vector { .. }
            | Type::Matrix { .. }
            | Type::Quat(_)
            | Type::Transform(_) => {
                let layout = Layout::of(self.module, ty);
                let number = |scalar| match scalar {
                    Scalar::Bool => Number::Int(i128::from(self.random.bits() & 1)),
                    scalar if scalar.is_float() => Number::Float(self.random.signed() * 2.0),
                    _ => Number::Int(i128::from(self.integer())),
                };
                Argument::Value(
                    layout
                        .leaves
                        .iter()
                        .map(|leaf| leaf.scalar)
                        .map(number)
                        .collect(),
                )
            }
            _ => return None,
        })
    }

    /// An index along the shorter dimensions.
    fn integer(&mut self) -> u64 {
        let Range { start, end } = self.integers;
        let count = end.min(self.inner as u64).saturating_sub(start).max(1);
        start + self.random.below(count)
    }

    /// Every index once, in any order: threads that write through it do not meet.
    fn permutation(&mut self, size: usize) -> ArrayArgument {
        let mut indices: Vec<i32> = (0..size as i32).collect();
        for n in (1..size).rev() {
            indices.swap(n, self.random.below(n as u64 + 1) as usize);
        }
        ArrayArgument {
            shape: vec![size],
            data: indices.iter().flat_map(|n| n.to_le_bytes()).collect(),
            gradient: None,
        }
    }

    fn array(&mut self, layout: &Layout, rank: usize) -> ArrayArgument {
        let shape: Vec<usize> = (0..rank)
            .map(|axis| self.dim.get(axis).copied().unwrap_or(self.inner))
            .collect();
        let count: usize = shape.iter().product();
        let floating = layout.leaves.iter().all(|leaf| leaf.scalar.is_float());
        let data = self.fill(layout, count, 2.0);
        let gradient =
            (floating && !layout.leaves.is_empty()).then(|| self.fill(layout, count, 1.0));
        ArrayArgument {
            shape,
            data,
            gradient,
        }
    }

    /// The bytes of `count` elements, floating-point numbers in ±`span`.
    fn fill(&mut self, layout: &Layout, count: usize, span: f64) -> Vec<u8> {
        let mut bytes = vec![0; count * layout.bytes];
        let all = |scalar| layout.leaves.iter().all(|leaf| leaf.scalar == scalar);
        // The common cases: the elements are one run of numbers.
        if all(Scalar::F32) {
            for word in bytes.as_chunks_mut::<4>().0 {
                *word = ((self.random.signed() * span) as f32).to_le_bytes();
            }
            return bytes;
        }
        if all(Scalar::F64) {
            for word in bytes.as_chunks_mut::<8>().0 {
                *word = (self.random.signed() * span).to_le_bytes();
            }
            return bytes;
        }
        for element in bytes.chunks_exact_mut(layout.bytes.max(1)) {
            for leaf in &layout.leaves {
                let bits = match leaf.scalar {
                    Scalar::Bool => self.random.bits() & 1,
                    Scalar::F64 => (self.random.signed() * span).to_bits(),
                    // Written in their own width below.
                    scalar if scalar.is_float() => {
                        u64::from(((self.random.signed() * span) as f32).to_bits())
                    }
                    _ => self.integer(),
                };
                let place = &mut element[leaf.byte..leaf.byte + scalar_bytes(leaf.scalar)];
                write_bytes(leaf.scalar, bits, place);
            }
        }
        bytes
    }
}

/// Sebastiano Vigna's SplitMix64: a seed gives the same numbers everywhere.
pub(super) struct SplitMix(pub(super) u64);

impl SplitMix {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in ±1.
    pub(super) fn signed(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.bits() % bound.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith_compiler::compile;

    const SOURCE: &str = "
import warp as wp

@wp.struct
class Pair:
    weight: float
    index: wp.int8

@wp.kernel
def k(x: wp.array(dtype=wp.vec3), y: wp.array2d(dtype=wp.float64), p: wp.array(dtype=Pair), n: int, m: wp.mat22):
    i = wp.tid()
    x[i] = x[i] * p[i].weight * float(n)
";

    #[test]
    fn arrays_cover_the_grid_and_whole_numbers_are_indices() {
        let module =
            compile(SOURCE, &warpsmith_compiler::Options::default()).expect("the kernel compiles");
        let arguments = random_arguments(&module, &[100], 7).expect("arguments can be made");
        assert_eq!(
            arguments,
            random_arguments(&module, &[100], 7).expect("again")
        );
        let [
            Argument::Array(x),
            Argument::Array(y),
            Argument::Array(p),
            Argument::Value(n),
            Argument::Value(m),
        ] = &arguments[..]
        else {
            panic!("three arrays and two values: {arguments:?}");
        };
        assert_eq!((&x.shape[..], x.data.len()), (&[100][..], 100 * 12));
        assert_eq!((&y.shape[..], y.data.len()), (&[100, 16][..], 100 * 16 * 8));
        assert!(x.to_f32().iter().all(|value| value.abs() <= 2.0));
        assert!(x.gradient.is_some() && p.gradient.is_none());
        assert!(p.data.chunks(8).all(|pair| pair[4] < 16));
        assert!(matches!(n[0], Number::Int(0..16)));
        assert_eq!(m.len(), 4);
    }
}
