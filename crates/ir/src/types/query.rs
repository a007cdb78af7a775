//! What a question to a mesh, a tree of boxes or a hash grid answers. Only builtins make such values;
//! some have fields, others are gone through in a loop or by a `…_next` builtin.

use super::{Scalar, Type, TypeId, TypeTable};

/// A kind of answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Query {
    Bvh,
    BvhAabb,
    BvhCapsule,
    BvhRay,
    BvhSphere,
    HashGrid,
    HashGridDouble,
    HashGridHalf,
    /// The arrays of a mesh.
    Mesh,
    MeshAabb,
    MeshBoxes,
    MeshPoint,
    MeshRay,
    MeshSphere,
    /// Of a whole block.
    BvhTiled,
    MeshTiled,
    /// Textures, by their dimensions.
    Texture1,
    Texture2,
    Texture3,
}

impl Query {
    /// Every kind.
    pub const ALL: [Self; 19] = [
        Self::Bvh,
        Self::BvhAabb,
        Self::BvhCapsule,
        Self::BvhRay,
        Self::BvhSphere,
        Self::HashGrid,
        Self::HashGridDouble,
        Self::HashGridHalf,
        Self::Mesh,
        Self::MeshAabb,
        Self::MeshBoxes,
        Self::MeshPoint,
        Self::MeshRay,
        Self::MeshSphere,
        Self::BvhTiled,
        Self::MeshTiled,
        Self::Texture1,
        Self::Texture2,
        Self::Texture3,
    ];

    /// The C++ type.
    pub fn spelling(self) -> &'static str {
        match self {
            Self::Bvh | Self::BvhAabb | Self::BvhCapsule | Self::BvhRay | Self::BvhSphere => {
                "wp::bvh_query_t"
            }
            Self::HashGrid => "wp::hash_grid_query_f",
            Self::HashGridDouble => "wp::hash_grid_query_d",
            Self::HashGridHalf => "wp::hash_grid_query_h",
            Self::Mesh => "wp::Mesh",
            Self::MeshAabb | Self::MeshBoxes | Self::MeshSphere => "wp::mesh_query_aabb_t",
            Self::MeshPoint => "wp::mesh_query_point_t",
            Self::MeshRay => "wp::mesh_query_ray_t",
            Self::BvhTiled => "wp::bvh_query_thread_block_t",
            Self::MeshTiled => "wp::mesh_query_aabb_thread_block_t",
            Self::Texture1 => "wp::texture1d_t",
            Self::Texture2 => "wp::texture2d_t",
            Self::Texture3 => "wp::texture3d_t",
        }
    }

    /// The short code that signatures are made of.
    pub fn code(self) -> &'static str {
        match self {
            Self::Bvh => "bvhq",
            Self::BvhAabb => "bvhqa",
            Self::BvhCapsule => "bvhqc",
            Self::BvhRay => "bvhqr",
            Self::BvhSphere => "bvhqs",
            Self::HashGrid => "hgq",
            Self::HashGridDouble => "hgqd",
            Self::HashGridHalf => "hgqh",
            Self::Mesh => "Mesh",
            Self::MeshAabb => "mqab",
            Self::MeshBoxes => "mqa",
            Self::MeshPoint => "mqp",
            Self::MeshRay => "mqr",
            Self::MeshSphere => "mqs",
            Self::BvhTiled => "bvhqt",
            Self::MeshTiled => "mqabt",
            Self::Texture1 => "tex1d",
            Self::Texture2 => "tex2d",
            Self::Texture3 => "tex3d",
        }
    }

    /// The kind with this name in the intermediate form.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|query| query.code() == code)
    }

    /// The class in Python; kinds that only a builtin names have none.
    pub fn class(self) -> Option<&'static str> {
        Some(match self {
            Self::Bvh => "BvhQuery",
            Self::HashGrid => "HashGridQuery",
            Self::Mesh => "Mesh",
            Self::MeshAabb => "MeshQueryAABB",
            Self::MeshBoxes => "MeshQuery",
            Self::MeshPoint => "MeshQueryPoint",
            Self::MeshRay => "MeshQueryRay",
            Self::Texture1 => "Texture1D",
            Self::Texture2 => "Texture2D",
            Self::Texture3 => "Texture3D",
            _ => return None,
        })
    }

    /// The kind that a parameter has which takes every search through boxes or faces.
    pub fn erased(self) -> Self {
        match self {
            Self::BvhAabb | Self::BvhCapsule | Self::BvhRay | Self::BvhSphere => Self::Bvh,
            Self::MeshAabb | Self::MeshSphere => Self::MeshBoxes,
            other => other,
        }
    }

    /// Whether a loop goes through it.
    pub fn is_iterated(self) -> bool {
        matches!(
            self,
            Self::HashGrid
                | Self::HashGridDouble
                | Self::HashGridHalf
                | Self::MeshBoxes
                | Self::MeshAabb
                | Self::MeshSphere
        )
    }

    /// The names of its fields.
    pub fn fields(self) -> &'static [&'static str] {
        match self {
            Self::MeshPoint => &["result", "sign", "face", "u", "v"],
            Self::MeshRay => &["result", "sign", "face", "t", "u", "v", "normal"],
            Self::Mesh => &["points", "velocities", "indices"],
            Self::Texture1 => &["width"],
            Self::Texture2 => &["width", "height"],
            Self::Texture3 => &["width", "height", "depth"],
            _ => &[],
        }
    }

    /// The type of a field.
    pub fn field(self, name: &str, types: &mut TypeTable) -> Option<TypeId> {
        if !self.fields().contains(&name) {
            return None;
        }
        let vector = Type::Vector {
            length: 3,
            scalar: Scalar::F32,
        };
        let element = match name {
            "result" => return Some(TypeId::BOOL),
            "face" | "width" | "height" | "depth" => return Some(TypeId::I32),
            "normal" => return Some(types.intern(vector)),
            "points" | "velocities" => types.intern(vector),
            "indices" => TypeId::I32,
            _ => return Some(TypeId::F32),
        };
        Some(types.intern(Type::Array { element, rank: 1 }))
    }
}
