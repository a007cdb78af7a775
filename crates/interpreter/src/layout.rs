//! How a type spreads over cells and over bytes.
//!
//! A value is a run of leaves, one scalar each: the components of a vector, the rows of a matrix one
//! after the other, the fields of a struct in order. An array value is [`ARRAY_LEAVES`] leaves that say
//! where it lies. In bytes, values lie as C lays them out.

use super::memory::lane_bits;
use super::object::Question;
use warpsmith_ir::Module;
use warpsmith_ir::types::{Query, Scalar, Type, TypeId};
use warpsmith_spatial::GRID_QUERY_LEAVES;
use warpsmith_spatial::box_query::{BOX_QUERY, BOX_QUERY_LEAVES};

/// Buffer, first element, four sizes, four strides (in elements).
pub const ARRAY_LEAVES: usize = 10;
/// Where the sizes begin.
pub const ARRAY_SHAPE: usize = 2;
/// Where the strides begin.
pub const ARRAY_STRIDES: usize = 6;
/// An array that is reached through lists of indices has the leaves of an array of its shape, those of the
/// array that the lists point into, and from this one on those of the lists.
pub(super) const MAPPED_LISTS: usize = 2;

/// Of a block's query, behind a thread's, whether the last answer was one.
pub(super) const BLOCK_QUERY_VALID: usize = BOX_QUERY_LEAVES;

/// One scalar of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// What it is.
    pub scalar: Scalar,
    /// Where it lies in the value's bytes.
    pub byte: usize,
}

/// A type's leaves and size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The scalars, in order.
    pub leaves: Vec<Leaf>,
    /// Size in memory.
    pub bytes: usize,
    /// What addresses are multiples of.
    pub alignment: usize,
    /// Whether part of it is an array, which has no bytes of its own.
    pub holds_array: bool,
}

/// Size in memory, which is also the alignment.
pub(super) fn scalar_bytes(scalar: Scalar) -> usize {
    match scalar {
        Scalar::Bool | Scalar::I8 | Scalar::U8 => 1,
        Scalar::I16 | Scalar::U16 | Scalar::F16 | Scalar::BF16 => 2,
        Scalar::I64 | Scalar::U64 | Scalar::F64 => 8,
        _ => 4,
    }
}

impl Layout {
    fn run(scalar: Scalar, count: usize) -> Self {
        let width = scalar_bytes(scalar);
        let leaves = (0..count)
            .map(|n| Leaf {
                scalar,
                byte: n * width,
            })
            .collect();
        Self {
            leaves,
            bytes: count * width,
            alignment: width,
            holds_array: false,
        }
    }

    /// Scalars one after the other, as a struct has them.
    pub fn sequence(scalars: &[Scalar]) -> Self {
        let mut layout = Self::default();
        for scalar in scalars {
            layout.append(&Self::run(*scalar, 1));
        }
        layout.bytes = layout.bytes.next_multiple_of(layout.alignment.max(1));
        layout
    }

    fn append(&mut self, part: &Self) {
        let start = self.bytes.next_multiple_of(part.alignment.max(1));
        self.leaves.extend(part.leaves.iter().map(|leaf| Leaf {
            byte: start + leaf.byte,
            ..*leaf
        }));
        self.bytes = start + part.bytes;
        self.alignment = self.alignment.max(part.alignment);
        self.holds_array |= part.holds_array;
    }

    /// The layout of a type.
    pub fn of(module: &Module, ty: TypeId) -> Self {
        match module.types.get(ty) {
            Type::Scalar(scalar) => Self::run(scalar, 1),
            Type::Vector { length, scalar } => Self::run(scalar, length as usize),
            Type::Matrix { rows, cols, scalar } => Self::run(scalar, (rows * cols) as usize),
            Type::Quat(scalar) => Self::run(scalar, 4),
            Type::Transform(scalar) => Self::run(scalar, 7),
            Type::Range | Type::Slice => Self::run(Scalar::I32, 3),
            Type::Shape => Self::run(Scalar::I32, 4),
            Type::Query(Query::HashGrid) => {
                let mut layout = Self::run(Scalar::U64, 1);
                layout.append(&Self::run(Scalar::I32, GRID_QUERY_LEAVES - 1));
                layout
            }
            Type::Query(
                Query::Bvh
                | Query::BvhAabb
                | Query::BvhCapsule
                | Query::BvhRay
                | Query::BvhSphere
                | Query::MeshAabb
                | Query::MeshBoxes
                | Query::MeshSphere,
            ) => Self::sequence(&BOX_QUERY),
            Type::Query(Query::BvhTiled | Query::MeshTiled) => {
                let mut layout = Self::sequence(&BOX_QUERY);
                layout.append(&Self::run(Scalar::Bool, 1));
                layout
            }
            Type::Query(Query::MeshPoint) => {
                Self::sequence(Question::MeshPoint { signed: true }.outputs())
            }
            Type::Query(Query::MeshRay) => Self::sequence(Question::MeshRay.outputs()),
            // The mesh's number.
            Type::Query(Query::Mesh) => Self::run(Scalar::U64, 1),
            // The texture's number, and its sizes.
            Type::Query(query @ (Query::Texture1 | Query::Texture2 | Query::Texture3)) => {
                use Scalar::{I32, U64};
                Self::sequence(&[U64, I32, I32, I32][..1 + query.fields().len()])
            }
            // Never looked at: no kernel runs that has one.
            Type::Str | Type::Query(_) => Self::run(Scalar::I32, 1),
            // An array of the thread's own, and how many values there are.
            Type::TileStack { .. } => {
                let mut layout = Self::run(Scalar::I32, ARRAY_LEAVES + 1);
                layout.holds_array = true;
                layout
            }
            Type::MappedArray { mapping, rank, .. } => {
                let arrays = match mapping.index_lists(rank) {
                    0 => 1,
                    lists => MAPPED_LISTS + lists,
                };
                let mut layout = Self::run(Scalar::I32, ARRAY_LEAVES * arrays);
                layout.holds_array = true;
                layout
            }
            // A tile is memory of the thread's own.
            Type::Array { .. } | Type::FixedArray { .. } | Type::Tile(_) => {
                let mut layout = Self::run(Scalar::I32, ARRAY_LEAVES);
                layout.holds_array = true;
                layout
            }
            Type::Reference(value) => Self::of(module, value),
            Type::Struct(id) => {
                let mut layout = Self::default();
                for field in &module.types.struct_def(id).fields {
                    layout.append(&Self::of(module, field.ty));
                }
                layout.bytes = layout
                    .bytes
                    .max(1)
                    .next_multiple_of(layout.alignment.max(1));
                layout
            }
            Type::Tuple(index) => {
                let mut layout = Self::default();
                for part in module.types.tuple_parts(index) {
                    layout.append(&Self::of(module, *part));
                }
                layout
            }
        }
    }

    /// The first element with a number that is infinite or none, and how many there are.
    pub fn non_finite(&self, bytes: &[u8]) -> Option<(usize, usize)> {
        let floats: Vec<&Leaf> = self
            .leaves
            .iter()
            .filter(|leaf| leaf.scalar.is_float())
            .collect();
        if floats.is_empty() {
            return None;
        }
        let is_finite = |element: &[u8]| {
            floats.iter().all(|leaf| {
                let bits = lane_bits(leaf.scalar, &element[leaf.byte..]);
                match leaf.scalar {
                    Scalar::F64 => f64::from_bits(bits).is_finite(),
                    _ => f32::from_bits(bits as u32).is_finite(),
                }
            })
        };
        let mut bad = bytes
            .chunks_exact(self.bytes.max(1))
            .enumerate()
            .filter(|(_, element)| !is_finite(element))
            .map(|(n, _)| n);
        bad.next().map(|first| (first, bad.count() + 1))
    }

    /// Where the leaves of a field begin, and the field's type.
    pub fn field(
        module: &Module,
        ty: TypeId,
        name: warpsmith_ir::names::Name,
    ) -> Option<(usize, TypeId)> {
        let kind = module.types.get(module.types.value_of(ty));
        if let Type::Query(query @ (Query::MeshPoint | Query::MeshRay)) = kind {
            // One word for each field; the last may be a vector.
            let fields = query.fields();
            let at = (fields.iter()).position(|field| *field == module.names.get(name))?;
            let ty = match fields[at] {
                "result" => TypeId::BOOL,
                "face" => TypeId::I32,
                "normal" => {
                    let (length, scalar) = (3, Scalar::F32);
                    module.types.find(Type::Vector { length, scalar })?
                }
                _ => TypeId::F32,
            };
            return Some((at, ty));
        }
        if let Type::Query(query @ (Query::Texture1 | Query::Texture2 | Query::Texture3)) = kind {
            let fields = query.fields();
            let at = (fields.iter()).position(|field| *field == module.names.get(name))?;
            return Some((1 + at, TypeId::I32));
        }
        let Type::Struct(id) = kind else {
            return None;
        };
        let mut start = 0;
        for field in &module.types.struct_def(id).fields {
            if field.name == name {
                return Some((start, field.ty));
            }
            start += Self::of(module, field.ty).leaves.len();
        }
        None
    }
}
